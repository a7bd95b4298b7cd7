#include "report/formula_reference.h"

#include <algorithm>
#include <cmath>

#include "estimate/formulas.h"
#include "report/layout.h"
#include "report/table.h"
#include "report/trace_text.h"
#include "report/trace_walk.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// Symbols by name; another formula as a function of what it is given.
std::optional<std::string> reference_name(const TraceNode& node) {
  if (node.op != TraceOp::kFormula) return symbol_name(node);
  std::string arguments;
  for (const TraceNode* symbol : symbols_of(node)) {
    arguments += (arguments.empty() ? "" : ", ") + expression_text(*symbol->operands[0], reference_name);
  }
  return std::string(node.formula->id) + "(" + arguments + ")";
}

void add_steps(const TraceNode& node, std::vector<FormulaEntry::Step>& steps) {
  if (node.op == TraceOp::kFormula || node.op == TraceOp::kSymbol) return;
  for (const auto& operand : node.operands) add_steps(*operand, steps);
  if (node.op != TraceOp::kNamed) return;
  for (const FormulaEntry::Step& s : steps) {
    if (s.name == node.name) return;
  }
  steps.push_back({node.name, expression_text(*node.operands[0], reference_name)});
}

/// The inputs of a worked example as leaves of a trace.
template <class F>
typename F::template In<Traced> traced_inputs(const typename F::template In<double>& in) {
  typename F::template In<Traced> traced{};
  auto from = detail::fields(in);
  auto to = detail::fields(traced);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((std::get<I>(to) = leaf<Traced>(F::symbols[I], std::get<I>(from), "worked example")), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(from)>>{});
  return traced;
}

template <class F>
FormulaEntry::WorkedExample worked_example(const Example<F>& example) {
  const auto result = call<F>(traced_inputs<F>(example.in));
  const TraceNode& node = result.raw().node();
  FormulaEntry::WorkedExample out;
  auto inputs = traced_inputs<F>(example.in);
  std::apply(
      [&](const auto&... field) {
        (out.inputs.push_back(field.raw().node().name + " = " + value_text(field.raw().node())), ...);
      },
      detail::fields(inputs));
  out.substituted = expression_text(*node.operands[0], symbol_value);
  out.value = node.value;
  out.expected = example.expected;
  out.relative_tolerance = example.relative_tolerance;
  out.value_text = value_text(node);
  const TraceUnit u = node.unit;
  out.expected_text = format_dimension(example.expected, u.byte, u.second, u.flop, u.token, u.usd);
  out.from = example.from;
  const double scale = example.expected == 0 ? 1 : std::fabs(example.expected);
  out.holds = std::fabs(out.value - out.expected) <= example.relative_tolerance * scale;
  return out;
}

template <class F>
void add_symbols(FormulaEntry& entry) {
  auto inputs = traced_inputs<F>(F::examples[0].in);
  std::size_t at = 0;
  std::apply(
      [&](const auto&... field) {
        ((entry.symbols.push_back(
              {std::string(F::symbols[at]), std::string(F::inputs[at]), unit_text(field.raw().node())}),
          ++at),
         ...);
      },
      detail::fields(inputs));
}

void add_form(std::string expression, FormulaEntry& entry) {
  if (entry.expression.empty()) {
    entry.expression = std::move(expression);
  } else if (expression != entry.expression && std::find(entry.other_forms.begin(), entry.other_forms.end(),
                                                         expression) == entry.other_forms.end()) {
    entry.other_forms.push_back(std::move(expression));
  }
}

template <class F>
FormulaEntry entry_of() {
  FormulaEntry entry;
  entry.info = &F::info;
  entry.reference = find_citation(F::info.citation.id)->reference;
  add_symbols<F>(entry);
  for (const auto& example : F::examples) {
    const auto result = call<F>(traced_inputs<F>(example.in));
    const TraceNode& node = result.raw().node();
    add_form(expression_text(*node.operands[0], reference_name), entry);
    add_steps(*node.operands[0], entry.steps);
    entry.unit = unit_text(node);
    entry.examples.push_back(worked_example<F>(example));
  }
  return entry;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string unit_or_count(const std::string& unit) { return unit.empty() ? "-" : unit; }

std::string symbols_text(const FormulaEntry& entry) {
  Table table("lll");
  for (const FormulaEntry::Symbol& s : entry.symbols) {
    table.row({s.symbol, s.meaning, s.unit.empty() ? "" : "[" + s.unit + "]"});
  }
  return table.text("    ");
}

std::string example_text(const FormulaEntry::WorkedExample& example) {
  std::string text = wrap(joined(example.inputs), "    ", "    ");
  text += wrap(example.substituted, "    = ", "        ");
  const std::string verdict = example.holds ? "as expected" : "NOT as expected";
  text += "    = " + example.value_text + ", " + verdict + ": " + example.expected_text + "\n";
  return text + wrap(example.from, "    from: ", "      ");
}

std::string family_of(std::string_view id) { return std::string(id.substr(0, id.find('.'))); }

std::string markdown_symbols(const FormulaEntry& entry) {
  std::string text = "| symbol | what it is | unit |\n|---|---|---|\n";
  for (const FormulaEntry::Symbol& s : entry.symbols) {
    text += "| `" + s.symbol + "` | " + s.meaning + " | " + (s.unit.empty() ? "–" : s.unit) + " |\n";
  }
  return text;
}

std::string markdown_entry(const FormulaEntry& entry) {
  const std::string id(entry.info->id);
  std::string text = "### " + id + "\n\n";
  text += std::string(entry.info->title) + (entry.unit.empty() ? "" : ", in " + entry.unit) + "\n\n";
  text += "    " + entry.expression + "\n\n";
  for (const std::string& form : entry.other_forms) text += "or, by the inputs,\n\n    " + form + "\n\n";
  for (const FormulaEntry::Step& s : entry.steps) text += "- " + s.name + " = `" + s.expression + "`\n";
  if (!entry.steps.empty()) text += '\n';
  text += markdown_symbols(entry) + '\n';
  text += "Assumes: " + std::string(entry.info->assumes) + ".\n\n";
  text += "Source: " + entry.reference + "; " + std::string(entry.info->citation.where) + ".\n\n";
  for (const FormulaEntry::WorkedExample& e : entry.examples) {
    text += "- Example: " + joined(e.inputs) + ": **" + e.value_text + "** (" + e.from + ")\n";
  }
  return text;
}

}  // namespace

std::span<const FormulaEntry> formula_entries() {
  static const std::vector<FormulaEntry> entries = [] {
    std::vector<FormulaEntry> all;
    AllFormulas::for_each([&]<class F>() { all.push_back(entry_of<F>()); });
    return all;
  }();
  return entries;
}

const FormulaEntry* find_formula(std::string_view id) {
  for (const FormulaEntry& entry : formula_entries()) {
    if (entry.info->id == id) return &entry;
  }
  return nullptr;
}

std::string formulas_table() {
  Table table("llll");
  table.row({"id", "what it computes", "unit", "source"});
  for (const FormulaEntry& e : formula_entries()) {
    table.row({std::string(e.info->id), std::string(e.info->title), unit_or_count(e.unit),
               std::string(e.info->citation.id) + ", " + std::string(e.info->citation.where)});
  }
  return table.text("");
}

std::string formula_text(const FormulaEntry& entry) {
  const std::string unit = entry.unit.empty() ? "" : " [" + entry.unit + "]";
  std::string text = std::string(entry.info->id) + ": " + std::string(entry.info->title) + unit + "\n\n";
  text += wrap(entry.expression, "    ", "        ");
  for (const std::string& form : entry.other_forms) {
    text += "  or, by the inputs,\n" + wrap(form, "    ", "        ");
  }
  text += '\n';
  for (const FormulaEntry::Step& s : entry.steps) {
    text += wrap(s.expression, "    " + s.name + " = ", "        ");
  }
  text += (entry.steps.empty() ? "where\n" : "\nwhere\n") + symbols_text(entry);
  text += "\n" + wrap(std::string(entry.info->assumes), "assumes: ", "  ");
  text += wrap(entry.reference + "; " + std::string(entry.info->citation.where), "source: ", "  ");
  for (const FormulaEntry::WorkedExample& e : entry.examples) text += "\nworked example\n" + example_text(e);
  return text;
}

Json formula_json(const FormulaEntry& entry) {
  Json symbols = Json::array(), steps = Json::array();
  Json examples = Json::array();
  for (const auto& s : entry.symbols) {
    symbols.push_back({{"symbol", s.symbol}, {"meaning", s.meaning}, {"unit", s.unit}});
  }
  for (const auto& s : entry.steps) steps.push_back({{"name", s.name}, {"expression", s.expression}});
  for (const auto& e : entry.examples) {
    examples.push_back({{"inputs", e.inputs},
                        {"substituted", e.substituted},
                        {"value", e.value},
                        {"expected", e.expected},
                        {"relative_tolerance", e.relative_tolerance},
                        {"holds", e.holds},
                        {"from", e.from}});
  }
  return {{"id", std::string(entry.info->id)},
          {"title", std::string(entry.info->title)},
          {"unit", entry.unit},
          {"citation",
           {{"id", std::string(entry.info->citation.id)},
            {"reference", entry.reference},
            {"where", std::string(entry.info->citation.where)}}},
          {"expression", entry.expression},
          {"other_forms", entry.other_forms},
          {"symbols", symbols},
          {"steps", steps},
          {"assumes", std::string(entry.info->assumes)},
          {"examples", examples}};
}

Json formulas_json() {
  Json all = Json::array();
  for (const FormulaEntry& entry : formula_entries()) all.push_back(formula_json(entry));
  return all;
}

std::string formulas_markdown() {
  std::string text =
      "# Formulas\n\nEvery formula that the program uses: what it computes, what it assumes, the work it is "
      "cited from, and\nworked examples, which the tests evaluate. `shardplan explain ID` prints one of "
      "them; `--explain` on a command prints\nthose it used with the numbers in.\n";
  std::vector<std::string> families;
  for (const FormulaEntry& entry : formula_entries()) {
    const std::string family = family_of(entry.info->id);
    if (std::find(families.begin(), families.end(), family) == families.end()) families.push_back(family);
  }
  for (const std::string& family : families) {
    text += "\n## " + family + "\n";
    for (const FormulaEntry& entry : formula_entries()) {
      if (family_of(entry.info->id) == family) text += "\n" + markdown_entry(entry);
    }
  }
  return text;
}

namespace {

bool starts_with_any(std::string_view id, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes) {
    if (id.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

std::string formula_family_text(std::initializer_list<std::string_view> prefixes) {
  std::string text;
  for (const FormulaEntry& entry : formula_entries()) {
    if (starts_with_any(entry.info->id, prefixes)) text += (text.empty() ? "" : "\n") + formula_text(entry);
  }
  return text;
}

Json formula_family_json(std::initializer_list<std::string_view> prefixes) {
  Json formulas = Json::array();
  for (const FormulaEntry& entry : formula_entries()) {
    if (starts_with_any(entry.info->id, prefixes)) formulas.push_back(formula_json(entry));
  }
  return {{"schema_version", kSchemaVersion}, {"formulas", formulas}};
}

}  // namespace shardplan
