// Feeds import/cluster_file.h: whatever the file holds, the answer is a cluster or an error.
#include <string_view>

#include "fuzz_one.h"
#include "import/cluster_file.h"

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(static_cast<bool>(shardplan::read_cluster_file(text, "fuzz", shardplan::catalog())));
  return 0;
}
