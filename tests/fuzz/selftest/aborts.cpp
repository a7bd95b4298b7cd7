// An importer with a bug, for the test of the driver: it aborts on an input that no longer starts with a
// brace.
#include <cstdlib>

#include "../fuzz_one.h"

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] != '{') std::abort();
  return 0;
}
