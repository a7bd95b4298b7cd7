// Feeds import/oom_text.h: whatever a log holds, the answer is a message or an error.
#include "fuzz_one.h"
#include "import/oom_text.h"

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(static_cast<bool>(shardplan::read_out_of_memory(text, "fuzz")));
  return 0;
}
