// Feeds import/sweep_grid.h: whatever the text is, the answer is a grid, each item of which is a question or
// an error, or an error.
#include "fuzz_one.h"
#include "import/sweep_grid.h"

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto grid = shardplan::read_sweep_grid(text, "fuzz");
  if (!grid) return 0;
  for (const std::int64_t index : {std::int64_t{0}, grid->size / 2, grid->size - 1}) {
    const shardplan::SweepItem item = shardplan::sweep_item(*grid, index);
    static_cast<void>(static_cast<bool>(shardplan::item_question(item, shardplan::catalog())));
  }
  static_cast<void>(shardplan::sweep_digest(*grid, shardplan::catalog(), "0"));
  return 0;
}
