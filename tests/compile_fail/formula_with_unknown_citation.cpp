// A formula that cites a work missing from formula/citations.h cannot be registered.
#include "formula/registry.h"

using namespace shardplan;

#ifdef SHOULD_FAIL
constexpr Citation where_read{"nobody1900", "eq. 1"};
#else
constexpr Citation where_read{"hockney1994", "eq. 1"};
#endif

struct Transfer {
  static constexpr FormulaInfo info{"test.transfer", "time of one message", where_read,
                                    "one message at a time"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array symbols{"S", "B"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
    return in.size / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<Transfer>{{gigabytes(1), gigabytes_per_s(50)}, 0.02, "worked by hand"}};
};

static_assert(FormulaList<Transfer>::size == 1);

int main() {}
