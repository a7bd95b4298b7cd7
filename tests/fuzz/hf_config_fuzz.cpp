// Feeds import/hf_config.h: whatever a config.json holds, the answer is a model or an error.
#include <string_view>

#include "fuzz_one.h"
#include "import/hf_config.h"

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(static_cast<bool>(shardplan::import_hf_config(text, "fuzz")));
  return 0;
}
