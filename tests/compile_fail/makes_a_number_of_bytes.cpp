// A quantity does not decay to a number; dividing by a unit gives one.
#include "units/quantity.h"

using namespace shardplan;

constexpr double count = (gibibytes(80) / gibibytes(1)).raw();
#ifdef SHOULD_FAIL
constexpr double decayed = gibibytes(80);
#endif

int main() {}
