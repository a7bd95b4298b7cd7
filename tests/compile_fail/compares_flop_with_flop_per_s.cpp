// A comparison needs one dimension on both sides.
#include "units/quantity.h"

using namespace shardplan;

constexpr bool fast = teraflops_per_s(989) > teraflops_per_s(312);
#ifdef SHOULD_FAIL
constexpr bool mistaken = teraflops_per_s(989) > flops(312e12);
#endif

int main() {}
