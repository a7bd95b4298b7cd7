// FLOP is work and FLOP/s is speed, whatever people write for either.
#include "units/quantity.h"

using namespace shardplan;

constexpr Seconds<> duration = flops(2e15) / teraflops_per_s(989);
#ifdef SHOULD_FAIL
constexpr FlopsPerSecond<> peak = flops(989e12);
#endif

int main() {}
