// The grid of `shardplan sweep`: questions of `plan` that differ in what some flags say.
//
//   {"preset": ["llama3-8b", "llama3-70b"],
//    "machine": [{"gpu": "h100-sxm", "gpus": [64, 128]}, {"gpu": "h200", "gpus": 64}],
//    "seq": 4096}
//
//   Result<SweepGrid> grid = read_sweep_grid(text, "grid.json");
//   grid->size;                            // 6 = 2 models x (2 + 1) machines x 1 sequence
//   SweepItem item = sweep_item(*grid, 4); // {"preset":"llama3-70b","gpu":"h100-sxm","gpus":128,"seq":4096}
//   item_question(item, catalog());        // what `plan` is asked by these flags
//
// A key is a flag of `plan` without its dashes; its value, or each of a list in turn, is what would be typed
// after it: a text, a number, true or false; null leaves the flag out. A key that is no flag names cases:
// objects which are grids themselves and follow one another, so that values which belong together vary
// together. The items are the product of the keys, the first key the slowest.
//
// Not here: what a value means (an item's question says, when it is built), the answer (reason/sweep_row.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "import/plan_question.h"

namespace shardplan {

inline constexpr std::int64_t kSweepItemsMax = 1'000'000;

/// What is told of one question: a value for each key of the grid, null where the flag is left out.
using SweepItem = nlohmann::ordered_json;

struct SweepGrid {
  struct Axis {
    std::string key;
    std::vector<nlohmann::ordered_json> values;  // of a flag
    std::vector<SweepGrid> cases;                // of a key that is none
    std::int64_t size = 0;
  };
  std::vector<Axis> axes;         // as in the file
  std::int64_t size = 1;          // items
  std::vector<std::string> keys;  // the flags, each once, as in the file
};

Result<SweepGrid> read_sweep_grid(std::string_view text, const std::string& document);

/// `index` from 0, less than the grid's size.
SweepItem sweep_item(const SweepGrid& grid, std::int64_t index);

/// What `plan` is asked by the same flags, all that it takes of the question and of the run.
Result<PlanQuestion> item_question(const SweepItem& item, const Catalog& catalog);

/// Equal where all rows are: of the grid, of the files that it names as models and clusters, of the catalog
/// and of the program (its version and sources). 16 hexadecimal digits.
std::string sweep_digest(const SweepGrid& grid, const Catalog& catalog, const std::string& program);

}  // namespace shardplan
