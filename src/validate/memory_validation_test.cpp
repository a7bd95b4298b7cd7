// What is said of published runs that are known to have run, or to have run out of memory.
#include "validate/memory_validation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "import/catalog.h"
#include "validate/validation_set.h"

namespace shardplan {
namespace {

const std::string kChosen = std::string(SHARDPLAN_SOURCE_DIR) + "/validation/training_memory.csv";
const std::string kCorpus = std::string(SHARDPLAN_SOURCE_DIR) + "/../shared/data/training_measurements.csv";

std::vector<JudgedRow> judged(const std::string& file) {
  const auto all =
      validate_files({.kind = **validation_kind(kMemoryBand), .files = {file}, .leave_out = {}}, catalog());
  EXPECT_TRUE(all) << (all ? "" : all.error().message);
  return all ? all->judged : std::vector<JudgedRow>{};
}

/// Of the runs of quality A that ran: the share said `verdict`.
double share(const std::vector<JudgedRow>& rows, Verdict verdict) {
  double all = 0, said = 0;
  for (const JudgedRow& row : rows) {
    if (!row.ran() || row.quality != "A") continue;
    ++all;
    if (row.verdict == verdict) ++said;
  }
  EXPECT_GT(all, 50);
  return said / all;
}

TEST(MemoryVerdicts, NoRunThatRanOutIsSaidToFit) {
  std::map<std::string, Verdict> said;
  for (const JudgedRow& row : judged(kChosen)) {
    if (!row.ran()) said[row.id] = row.verdict;
  }
  for (const char* id : {"bigscience-a100-0075", "bigscience-a100-0082", "bigscience-a100-0083",
                         "bigscience-a100-0132", "torchtitan-0045", "megatron-sc21-t2-0013"}) {
    ASSERT_TRUE(said.contains(id)) << id;
    EXPECT_NE(said[id], Verdict::kFits) << id;
  }
}

TEST(MemoryVerdicts, FewRunsThatRanAreSaidNotTo) {
  const std::vector<JudgedRow> rows = judged(kChosen);
  EXPECT_LE(share(rows, Verdict::kNo), 0.02);
  EXPECT_LE(share(rows, Verdict::kTight), 0.10);
}

TEST(MemoryVerdicts, OfTheWholeCorpusToo) {
  if (!std::filesystem::exists(kCorpus))
    GTEST_SKIP() << "the runs of the corpus are not judged: " << kCorpus << " is absent";
  const std::vector<JudgedRow> rows = judged(kCorpus);
  EXPECT_LE(share(rows, Verdict::kNo), 0.02);
  EXPECT_LE(share(rows, Verdict::kTight), 0.10);
}

}  // namespace
}  // namespace shardplan
