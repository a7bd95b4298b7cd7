// Feeds import/nccl_log.h: whatever a log holds, the answer is a table or an error.
#include "fuzz_one.h"
#include "import/nccl_log.h"

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(shardplan::is_nccl_log(text));
  static_cast<void>(static_cast<bool>(shardplan::read_nccl_log(text, "fuzz", {"ib-ndr-400", ""})));
  return 0;
}
