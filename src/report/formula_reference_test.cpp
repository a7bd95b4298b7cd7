#include "report/formula_reference.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "estimate/formulas.h"
#include "formula/citations.h"

namespace shardplan {
namespace {

TEST(FormulaReference, HasEveryFormulaWithItsExamplesHolding) {
  EXPECT_EQ(formula_entries().size(), AllFormulas::size);
  for (const FormulaEntry& entry : formula_entries()) {
    EXPECT_FALSE(entry.expression.empty()) << entry.info->id;
    EXPECT_FALSE(entry.symbols.empty()) << entry.info->id;
    for (const auto& example : entry.examples)
      EXPECT_TRUE(example.holds) << entry.info->id << ": " << example.from;
  }
}

TEST(FormulaReference, EverySymbolHasWordsAndIsUsed) {
  for (const FormulaEntry& entry : formula_entries()) {
    std::string all = entry.expression;
    for (const auto& form : entry.other_forms) all += " " + form;
    for (const auto& step : entry.steps) all += " " + step.expression;
    for (const auto& symbol : entry.symbols) {
      EXPECT_FALSE(symbol.meaning.empty()) << entry.info->id << " " << symbol.symbol;
      EXPECT_NE(all.find(symbol.symbol), std::string::npos) << entry.info->id << " " << symbol.symbol;
    }
  }
}

TEST(Citations, EveryIdResolvesAndEveryWorkIsUsed) {
  std::set<std::string_view> used;
  for (const FormulaEntry& entry : formula_entries()) {
    EXPECT_NE(find_citation(entry.info->citation.id), nullptr) << entry.info->id;
    used.insert(entry.info->citation.id);
  }
  for (const Work& work : kWorks) EXPECT_TRUE(used.contains(work.id)) << work.id << " is cited by no formula";
}

TEST(FormulaReference, PrintsTheBodyOfTheFormula) {
  const FormulaEntry* ring = find_formula("comm.ring.all_reduce.bandwidth");
  ASSERT_NE(ring, nullptr);
  EXPECT_EQ(ring->expression, "2 · (n - 1) / n · S / B");
  EXPECT_EQ(ring->unit, "s");
  EXPECT_EQ(ring->examples[0].substituted, "2 · (64 - 1) / 64 · 13.04 GiB / (50 GB/s)");
  EXPECT_EQ(find_formula("comm.ring"), nullptr);
}

TEST(FormulaReference, KeepsTheParenthesesThatMatter) {
  const FormulaEntry* bubble = find_formula("comm.required_bandwidth");
  ASSERT_NE(bubble, nullptr);
  EXPECT_EQ(bubble->expression, "B · t_B / (W - t_a)");
  EXPECT_EQ(find_formula("comm.exposed")->expression, "C - min(C, W) + kappa · min(C, W)");
}

}  // namespace
}  // namespace shardplan
