// Every formula without a question: the table of all, one in full with its worked examples, the reference
// page.
//
//   formulas_table();                                      // id, title, unit, work
//   formula_text(*find_formula("comm.exposed"));           // C - min(C, W) + kappa · min(C, W), where ...,
//   examples formulas_markdown();                                   // docs/reference/formulas.md
//
// All of it is read from the registry: the expression is the trace of the formula's own worked example. Not
// here: formulas with a question's numbers in (explain.h).
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formula/formula.h"
#include "report/json_values.h"

namespace shardplan {

struct FormulaEntry {
  struct Symbol {
    std::string symbol;
    std::string meaning;  // "message size, the whole vector"
    std::string unit;     // "bytes"
  };
  struct Step {
    std::string name;
    std::string expression;
  };
  struct WorkedExample {
    std::vector<std::string> inputs;  // "S = 13.04 GiB"
    std::string substituted;
    double value = 0, expected = 0, relative_tolerance = 0;
    std::string value_text, expected_text;
    std::string from;
    bool holds = false;
  };
  const FormulaInfo* info = nullptr;
  std::string reference;  // the work that is cited
  std::string unit;
  std::string expression;
  std::vector<std::string> other_forms;  // of other examples, where the inputs decide which form holds
  std::vector<Symbol> symbols;
  std::vector<Step> steps;
  std::vector<WorkedExample> examples;
};

/// In the order of estimate/formulas.h.
std::span<const FormulaEntry> formula_entries();
const FormulaEntry* find_formula(std::string_view id);

std::string formulas_table();
std::string formulas_markdown();
Json formulas_json();
std::string formula_text(const FormulaEntry& entry);
Json formula_json(const FormulaEntry& entry);
/// Every formula in full whose id starts with one of the prefixes: what one command uses, without a question.
std::string formula_family_text(std::initializer_list<std::string_view> prefixes);
Json formula_family_json(std::initializer_list<std::string_view> prefixes);

}  // namespace shardplan
