// Bytes and seconds do not add up; bytes per second do come from dividing them.
#include "units/quantity.h"

using namespace shardplan;

constexpr BytesPerSecond<> speed = gigabytes(80) / seconds(2);
#ifdef SHOULD_FAIL
constexpr auto sum = gigabytes(80) + seconds(2);
#endif

int main() {}
