#include "validate/validation_set.h"

#include <gtest/gtest.h>

#include "import/catalog.h"

namespace shardplan {
namespace {

const std::string kMemory = std::string(SHARDPLAN_SOURCE_DIR) + "/validation/training_memory.csv";

TEST(ValidationSet, KindsAreKnownByName) {
  ASSERT_TRUE(validation_kind("training-memory"));
  EXPECT_EQ(validation_kind("training-memory").value()->unit, std::string("bytes"));
  EXPECT_EQ(validation_kind("training-mem").error().nearest, "training-memory");
}

TEST(ValidationSet, SourcesThatAreLeftOutAreInNoList) {
  const ValidationKind& kind = **validation_kind("training-memory");
  const auto all = validate_files({.kind = kind, .files = {kMemory}, .leave_out = {}}, catalog());
  const auto some =
      validate_files({.kind = kind, .files = {kMemory}, .leave_out = {"simumax-b200"}}, catalog());
  ASSERT_TRUE(all && some);
  EXPECT_EQ(all->rows.size() - some->rows.size(), 21U);
  for (const ValidatedRow& row : some->rows) EXPECT_NE(row.source, "simumax-b200");
  for (const JudgedRow& row : some->judged) EXPECT_NE(row.source, "simumax-b200");
}

TEST(ValidationSet, WhatIsWrongIsNamed) {
  const ValidationKind& kind = **validation_kind("training-memory");
  const auto code = [&](std::vector<std::string> files, std::vector<std::string> leave_out) {
    const auto read = validate_files(
        {.kind = kind, .files = std::move(files), .leave_out = std::move(leave_out)}, catalog());
    return read ? "none" : read.error().where + " " + read.error().code;
  };
  EXPECT_EQ(code({kMemory, kMemory}, {}), "FILE conflict");
  EXPECT_EQ(code({kMemory}, {"simumax"}), "--leave-out unknown_name");
  const std::string collective = std::string(SHARDPLAN_SOURCE_DIR) + "/validation/collective.csv";
  EXPECT_EQ(code({collective}, {}), collective + ":1 missing_column");
}

}  // namespace
}  // namespace shardplan
