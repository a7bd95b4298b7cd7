#include "import/sweep_grid.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "import/test_catalog.h"

namespace shardplan {
namespace {

SweepGrid grid_of(std::string_view text) {
  const Result<SweepGrid> grid = read_sweep_grid(text, "grid.json");
  EXPECT_TRUE(grid) << (grid ? "" : grid.error().message);
  return grid ? *grid : SweepGrid{};
}

std::vector<std::string> items_of(std::string_view text) {
  const SweepGrid grid = grid_of(text);
  std::vector<std::string> items;
  for (std::int64_t i = 0; i < grid.size; ++i) items.push_back(sweep_item(grid, i).dump());
  return items;
}

Error refused(std::string_view text) {
  const Result<SweepGrid> grid = read_sweep_grid(text, "grid.json");
  EXPECT_FALSE(grid) << text;
  return grid ? Error{} : grid.error();
}

using Items = std::vector<std::string>;

TEST(SweepGrid, IsTheProductFirstKeySlowest) {
  EXPECT_EQ(items_of(R"({"seq": [4096, 8192], "gpus": [8, "16"], "preset": "llama3-8b"})"),
            (Items{R"({"seq":4096,"gpus":8,"preset":"llama3-8b"})",
                   R"({"seq":4096,"gpus":"16","preset":"llama3-8b"})",
                   R"({"seq":8192,"gpus":8,"preset":"llama3-8b"})",
                   R"({"seq":8192,"gpus":"16","preset":"llama3-8b"})"}));
}

TEST(SweepGrid, CasesVaryTogetherAndAreGridsThemselves) {
  const std::string text =
      R"({"machine": [{"gpu": "h100", "gpus": [64, 128]}, {"cluster": "own.json"}], "tp": [null, 8]})";
  EXPECT_EQ(grid_of(text).keys, (Items{"gpu", "gpus", "cluster", "tp"}));
  EXPECT_EQ(items_of(text), (Items{R"({"gpu":"h100","gpus":64,"cluster":null,"tp":null})",
                                   R"({"gpu":"h100","gpus":64,"cluster":null,"tp":8})",
                                   R"({"gpu":"h100","gpus":128,"cluster":null,"tp":null})",
                                   R"({"gpu":"h100","gpus":128,"cluster":null,"tp":8})",
                                   R"({"gpu":null,"gpus":null,"cluster":"own.json","tp":null})",
                                   R"({"gpu":null,"gpus":null,"cluster":"own.json","tp":8})"}));
  EXPECT_EQ(items_of(R"({"one": {"tp": [1, 2], "pp": 2}, "free or not": [{}, {"cp": 2}]})").size(), 4U);
  EXPECT_EQ(items_of(R"({"a": [{"b": [{"tp": [1, 2]}, {"pp": 4}]}, {"cp": 2}]})").size(), 4U);
}

TEST(SweepGrid, AnItemThatCasesTellTwiceIsRefused) {
  for (const char* text :
       {R"({"a": [{"gpus": 8}, {"gpus": 8}]})", R"({"a": [{"gpus": [8, 16]}, {"gpus": "16"}]})",
        R"({"a": [{}, {"tp": null}], "gpus": 8})", R"({"a": [{"tp": 2, "pp": 4}, {"pp": 4, "tp": 2}]})",
        R"({"a": {"b": [{"tp": [1, 2]}, {"tp": 2}]}})",
        R"({"a": [{"b": [{"tp": 1}, {"pp": 2}]}, {"pp": 2}]})"}) {
    const Error error = refused(text);
    EXPECT_EQ(error.code, "duplicate_value") << text;
    EXPECT_EQ(error.where, "grid.json: a") << text;
  }
  EXPECT_EQ(refused(R"({"a": [{"tp": 2, "gpus": [8, 16]}, {"gpus": "16", "tp": 2}]})").message,
            "the same item again: gpus 16, tp 2");
  EXPECT_EQ(items_of(R"({"a": [{"tp": 2}, {"tp": 4}, {"pp": 2}, {}]})").size(), 4U);
}

TEST(SweepGrid, WhatIsNoGridIsRefusedWithItsPlace) {
  EXPECT_EQ(refused("[]").code, "wrong_type");
  EXPECT_EQ(refused("[]").message, "a list is not an object");
  EXPECT_EQ(refused(R"({"seq": [[1]]})").message, "a list in a list is no value of a flag");
  EXPECT_EQ(refused("{}").code, "empty");
  EXPECT_EQ(refused(R"({"seq": []})").where, "grid.json: seq");
  EXPECT_EQ(refused(R"({"seq": 1, "seq": 2})").code, "duplicate_key");
  const Error unknown = refused(R"({"preset": "llama3-8b", "gpuss": [8, 16]})");
  EXPECT_EQ(unknown.code, "unknown_field");
  EXPECT_EQ(unknown.where, "grid.json: gpuss");
  EXPECT_EQ(unknown.nearest, "gpus");
  EXPECT_EQ(refused(R"({"--seq": 4096})").nearest, "seq");
  EXPECT_EQ(refused(R"({"global_batch": 4096})").nearest, "global-batch");
  EXPECT_EQ(refused(R"({"seq": [4096, [8192]]})").where, "grid.json: seq[1]");
  EXPECT_EQ(refused(R"({"gpu": [{"gpus": 8}]})").code, "wrong_type");
  EXPECT_EQ(refused(R"({"seq": [4096, "4096"]})").code, "duplicate_value");
  EXPECT_EQ(refused(R"({"gpus": [8, 8.0]})").code, "duplicate_value");
  EXPECT_EQ(items_of(R"({"hbm": [8, 8.5]})").size(), 2U);
  EXPECT_EQ(refused(R"({"seq": [NaN]})").code, "wrong_type");
  EXPECT_EQ(refused(R"({"seq": 1e999})").code, "wrong_type");
  const Error twice = refused(R"({"machine": [{"tp": 1}, {"gpus": 8, "pp": 2}], "gpus": 16})");
  EXPECT_EQ(twice.code, "conflict");
  EXPECT_EQ(twice.where, "grid.json: gpus");
  EXPECT_EQ(refused(R"({"machine": [{"gpus": 8}, 16]})").where, "grid.json: machine[1]");
  EXPECT_EQ(refused(R"({"machine": [{"gpus": 8, "seqq": 1}]})").where, "grid.json: machine[0].seqq");
}

TEST(SweepGrid, HasAMostOfItems) {
  std::string thousand;
  for (int i = 1; i <= 1000; ++i) thousand += (i > 1 ? "," : "") + std::to_string(i);
  const std::string list = "[" + thousand + "]";
  EXPECT_EQ(grid_of(R"({"seq": )" + list + R"(, "gpus": )" + list + "}").size, kSweepItemsMax);
  const Error many = refused(R"({"seq": )" + list + R"(, "gpus": )" + list + R"(, "tp": [1, 2]})");
  EXPECT_EQ(many.code, "too_many");
  EXPECT_EQ(many.where, "grid.json: tp");
  const std::string million = R"({"seq": )" + list + R"(, "gpus": )" + list + "}";
  EXPECT_EQ(refused(R"({"cases": [)" + million + R"(, {"tp": 2}]})").code, "too_many");
}

TEST(SweepGrid, AnItemIsTheQuestionOfItsFlags) {
  const Catalog catalog = load_catalog(as_files(test_catalog_texts())).value();
  const SweepGrid grid = grid_of(
      R"({"params": 8, "layers": 32, "hidden": 4096, "heads": 32, "gpu": "h100", "gpus": 16, "seq": "8192",
          "global-batch": "524288tok", "sp": true, "tp": [null, 2], "max": "pp=4", "forbid": "cp"})");
  const Result<PlanQuestion> asked = item_question(sweep_item(grid, 0), catalog);
  ASSERT_TRUE(asked) << asked.error().where << asked.error().message;
  const Question& searched = asked->question;
  EXPECT_EQ(searched.cluster.gpus, 16);
  EXPECT_EQ(searched.workload.sequence, 8192);
  EXPECT_EQ(searched.workload.global_batch, 64);
  EXPECT_FALSE(searched.fixed.tp);
  EXPECT_EQ(searched.fixed.sequence_parallel, true);
  EXPECT_EQ(searched.fixed.bounds_of(Degree::kPp).most, 4);
  EXPECT_EQ(searched.fixed.bounds_of(Degree::kCp).most, 1);
  EXPECT_FALSE(asked->sizes);
  EXPECT_FALSE(asked->objective.about_run());
  EXPECT_EQ(item_question(sweep_item(grid, 1), catalog)->question.fixed.tp, 2);

  const auto wrong = [&](const char* text) { return item_question(sweep_item(grid_of(text), 0), catalog); };
  EXPECT_EQ(wrong(R"({"preset": "no such model"})").error().where, "--preset");
  EXPECT_EQ(wrong(R"({"params": 8, "layers": 2, "hidden": 64, "heads": 2, "gpus": 8, "max": "tq=2"})")
                .error()
                .where,
            "--max");
}

TEST(SweepGrid, AnItemMayAskOfTheRunAndOfSeveralSizes) {
  const Catalog catalog = load_catalog(as_files(test_catalog_texts())).value();
  const std::string shape = R"("params": 8, "layers": 32, "hidden": 4096, "heads": 32, "gpu": "h100", )";
  const auto asked = [&](const std::string& flags) {
    return item_question(sweep_item(grid_of("{" + shape + flags + "}"), 0), catalog);
  };
  const auto run = asked(R"("gpus": "8:64:8", "objective": "cost", "tokens": "15T", "deadline": "30d",
                            "price": 2.5, "watts": 700, "budget": 100, "fix": "tp=2,zero=1")");
  ASSERT_TRUE(run) << run.error().where << run.error().message;
  ASSERT_TRUE(run->sizes);
  EXPECT_EQ(run->sizes->first(), 8);
  EXPECT_EQ(run->sizes->most, 40) << "what the budget pays for";
  EXPECT_EQ(run->of_size(16).cluster.gpus, 16);
  EXPECT_EQ(run->question.fixed.tp, 2);
  EXPECT_EQ(run->objective.kind, ObjectiveKind::kCost);
  EXPECT_EQ(run->objective.budget->raw(), 15e12);
  EXPECT_EQ(run->objective.deadline->raw(), 30 * 86400.0);
  EXPECT_EQ(run->objective.watts->value, 700);
  const SweepGrid whole =
      grid_of(R"({"preset": "llama3-8b", "gpus": 8, "whole-space": [true, "off", null]})");
  const auto uneven = [&](std::int64_t index) {
    return item_question(sweep_item(whole, index), shardplan::catalog())->question.whole_space;
  };
  EXPECT_TRUE(uneven(0));
  EXPECT_FALSE(uneven(1));
  EXPECT_FALSE(uneven(2));

  const auto wrong = [&](const std::string& flags) {
    const auto refused = asked("\"gpus\": 8, " + flags);
    return refused ? "" : refused.error().where;
  };
  EXPECT_EQ(wrong(R"("whole-space": "perhaps")"), "--whole-space");
  EXPECT_EQ(wrong(R"("objective": "speed")"), "--objective");
  EXPECT_EQ(wrong(R"("tokens": "many")"), "--tokens");
  EXPECT_EQ(wrong(R"("tokens": "1T", "deadline": "soon")"), "--deadline");
  EXPECT_EQ(wrong(R"("deadline": "30d")"), "--deadline");
  EXPECT_EQ(wrong(R"("price": true)"), "--price");
  EXPECT_EQ(wrong(R"("watts": -1)"), "--watts");
  EXPECT_EQ(wrong(R"("budget": 10)"), "--budget");
  EXPECT_EQ(wrong(R"("fix": "tq=2")"), "--fix");
  EXPECT_EQ(asked(R"("gpus": "64:8")").error().where, "--gpus");
}

class SweepDigest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string digest(const std::string& text, const std::string& version = "1") {
    return sweep_digest(grid_of(text), catalog_, version);
  }

  std::string folder_ = ::testing::TempDir() + "sweep_digest_" + std::to_string(getpid());
  Catalog catalog_ = load_catalog(as_files(test_catalog_texts())).value();
};

TEST_F(SweepDigest, ChangesWithAllThatRowsDependOn) {
  const std::string text = R"({"seq": [4096, 8192], "gpus": 8})";
  EXPECT_EQ(digest(text), digest(R"({ "seq": [4096,8192], "gpus": [8] })")) << "white space, a list of one";
  std::set<std::string> all{digest(text), digest(text, "2"), digest(R"({"gpus": 8, "seq": [4096, 8192]})"),
                            digest(R"({"seq": [4096], "gpus": 8})"),
                            digest(R"({"a": {"seq": [4096, 8192]}})")};
  catalog_.digest = "another";
  all.insert(digest(text));
  EXPECT_EQ(all.size(), 6U);
}

TEST_F(SweepDigest, ChangesWithTheFilesThatAreNamed) {
  write("config.json", "{}");
  write("cluster.json", "{}");
  const std::string text =
      R"({"model": ")" + folder_ + R"(", "machine": [{"cluster": ")" + folder_ + R"(/cluster.json"}]})";
  std::set<std::string> all{digest(text)};
  write("config.json", "{ }");
  all.insert(digest(text));
  write("cluster.json", "{ }");
  all.insert(digest(text));
  EXPECT_EQ(all.size(), 3U);
}

}  // namespace
}  // namespace shardplan
