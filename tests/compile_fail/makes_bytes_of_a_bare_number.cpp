// A bare number has no unit: a function that takes bytes is called with a constructor that names one.
#include "units/quantity.h"

using namespace shardplan;

constexpr double in_base_units(Bytes<> size) { return size.raw(); }
constexpr double named = in_base_units(gibibytes(80));
#ifdef SHOULD_FAIL
constexpr double bare = in_base_units(80.0);
#endif

int main() {}
