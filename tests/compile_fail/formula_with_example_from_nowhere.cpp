// A formula whose worked example does not say where it is from cannot be registered.
#include "formula/registry.h"

using namespace shardplan;

#ifdef SHOULD_FAIL
constexpr const char* example_from = "";
#else
constexpr const char* example_from = "worked by hand";
#endif

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
    return in.size / in.bandwidth;
  }
  static constexpr std::array examples{
      Example<Transfer>{{gigabytes(1), gigabytes_per_s(50)}, 0.02, example_from}};
};

static_assert(FormulaList<Transfer>::size == 1);

int main() {}
