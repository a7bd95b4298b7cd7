// A link speed in Gbit/s is a bandwidth, never an amount; a size comes from bandwidth times time.
#include "units/quantity.h"

using namespace shardplan;

constexpr Bytes<> moved = gbit_per_s(400) * seconds(1);
static_assert(moved == gigabytes(50));
#ifdef SHOULD_FAIL
constexpr Bytes<> mistaken = gbit_per_s(400);
#endif

int main() {}
