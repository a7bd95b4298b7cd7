// A formula whose body yields another dimension than it declares does not compile.
#include "formula/formula.h"

using namespace shardplan;

struct Transfer {
  static constexpr FormulaInfo info{
      "test.transfer", "time of one message", {"hockney1994", "eq. 1"}, "one message at a time"};
  template <class N>
  struct In {
    using Number = N;
    Bytes<N> size;
    BytesPerSecond<N> bandwidth;
  };
  static constexpr std::array symbols{"S", "B"};
  template <class N>
  static constexpr Seconds<N> eval(const In<N>& in) {
#ifdef SHOULD_FAIL
    return in.bandwidth / in.size;
#else
    return in.size / in.bandwidth;
#endif
  }
  static constexpr std::array examples{
      Example<Transfer>{{gigabytes(1), gigabytes_per_s(50)}, 0.02, "worked by hand"}};
};

static_assert(call<Transfer>(Transfer::In<double>{gigabytes(1), gigabytes_per_s(50)}) == seconds(0.02));

int main() {}
