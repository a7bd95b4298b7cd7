// A formula that leaves an input without a symbol cannot be registered.
#include "formula/registry.h"

using namespace shardplan;

#ifdef SHOULD_FAIL
constexpr std::array input_symbols{"S"};
#else
constexpr std::array input_symbols{"S", "B"};
#endif

struct Transfer {
  static constexpr FormulaInfo info{"test.transfer", "time of one message", Citation{"hockney1994", "eq. 1"},
                                    "one message at a time"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array symbols = input_symbols;
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.size / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<Transfer>{{gigabytes(1), gigabytes_per_s(50)}, 0.02, "worked by hand"}};
};

static_assert(FormulaList<Transfer>::size == 1);

int main() {}
