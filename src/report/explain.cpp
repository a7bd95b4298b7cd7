#include "report/explain.h"

#include "formula/citations.h"
#include "formula/formula.h"
#include "report/layout.h"
#include "report/table.h"
#include "report/trace_text.h"
#include "report/trace_walk.h"

namespace shardplan {
namespace {

/// One symbol of a block in words.
struct SymbolReading {
  std::string meaning;  // "message size"; "[2] backward pass of a step"
  std::string source;   // of an input: "flag --params"
};

std::string citation_text(const Citation& citation) {
  const Work* work = find_citation(citation.id);
  return std::string(work == nullptr ? citation.id : work->reference) + "; " + std::string(citation.where);
}

/// Everything that a block shows, as texts; the two outputs only arrange them.
class BlockTexts {
 public:
  BlockTexts(const TraceReading& reading, const TraceBlock& block) : reading_(reading), block_(block) {}

  std::string expression() const {
    return block_.formula != nullptr ? body_text(*block_.body) : caller_text(*block_.body);
  }
  /// In a formula's own symbols; calls of others by their numbers.
  std::string body_text(const TraceNode& node) const {
    return expression_text(node, [this](const TraceNode& n) -> std::optional<std::string> {
      return n.op == TraceOp::kFormula ? number_text(n) : symbol_name(n);
    });
  }
  std::string substituted() const { return expression_text(*block_.body, values()); }

  SymbolReading meaning(const TraceNode& symbol) const {
    const TraceNode& bound = binding_of(symbol);
    switch (bound.op) {
      case TraceOp::kLeaf:
        return {bound.name, bound.source};
      case TraceOp::kNamed:
        return {bound.name + " = " + caller_text(*bound.operands[0]), "computed"};
      case TraceOp::kFormula:
        return {caller_text(bound) + " " + bound.name, "computed"};
      case TraceOp::kConstant:
        return {"constant", "the method"};
      default:
        return {caller_text(bound), "computed"};
    }
  }

 private:
  std::string number_text(const TraceNode& n) const {
    return "[" + std::to_string(reading_.number_of(n)) + "]";
  }
  /// The atoms of a body whose own operation is not one of them.
  TraceAtom values() const {
    const TraceNode* top = block_.body;
    return [top](const TraceNode& node) -> std::optional<std::string> {
      return &node == top && node.op == TraceOp::kNamed ? std::nullopt : symbol_value(node);
    };
  }

  /// Outside of formulas: names of inputs and steps, numbers of formula calls.
  std::string caller_text(const TraceNode& node) const {
    return expression_text(node, [this](const TraceNode& n) -> std::optional<std::string> {
      if (n.op == TraceOp::kFormula) return number_text(n);
      if (n.op == TraceOp::kNamed || n.op == TraceOp::kLeaf) return n.name;
      return std::nullopt;
    });
  }

  const TraceReading& reading_;
  const TraceBlock& block_;
};

/// "= a" lines below a first line, all indented alike; an expression that is its own value is shown once.
std::string equation(const std::string& first, const std::string& indent,
                     const std::vector<std::string>& readings) {
  std::string text;
  std::string lead = indent + first;
  const std::string below(display_width(lead), ' ');
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (i > 0 && readings[i] == readings[i - 1]) continue;
    text += wrap(readings[i], lead + "= ", below + "    ");
    lead = below;
  }
  return text;
}

std::string result_text(const TraceBlock& block, const BlockTexts& texts) {
  return equation(block.title + " ", "",
                  {texts.expression(), texts.substituted(), value_text(*block.result)});
}

std::string symbols_text(const TraceBlock& block, const BlockTexts& texts) {
  Table table("lll");
  for (const TraceNode* symbol : block.symbols) {
    const SymbolReading read = texts.meaning(*symbol);
    const bool input = binding_of(*symbol).op == TraceOp::kLeaf && !read.source.empty();
    table.row(
        {symbol->name, "= " + value_text(*symbol), read.meaning + (input ? " (" + read.source + ")" : "")});
  }
  return table.text("      ");
}

std::string formula_text(const TraceBlock& block, const BlockTexts& texts) {
  const std::string number = "[" + std::to_string(block.number) + "] ";
  std::string text = number + block.title + "  (" + std::string(block.formula->id) + ")\n";
  text += equation("", "    ", {texts.expression(), texts.substituted(), value_text(*block.result)});
  for (const TraceNode* step : block.steps) {
    text += equation(step->name + " ", "      ", {texts.body_text(*step->operands[0]), value_text(*step)});
  }
  text += symbols_text(block, texts);
  text += wrap(std::string(block.formula->assumes), "    assumes: ", "      ");
  text += wrap(citation_text(block.formula->citation), "    source: ", "      ");
  return text;
}

Json block_json(const TraceBlock& block, const BlockTexts& texts) {
  Json symbols = Json::array(), steps = Json::array();
  for (const TraceNode* symbol : block.symbols) {
    const SymbolReading read = texts.meaning(*symbol);
    symbols.push_back({{"symbol", symbol->name},
                       {"meaning", read.meaning},
                       {"value", symbol->value},
                       {"unit", unit_text(*symbol)},
                       {"source", read.source}});
  }
  for (const TraceNode* step : block.steps) {
    steps.push_back({{"name", step->name},
                     {"expression", texts.body_text(*step->operands[0])},
                     {"value", step->value},
                     {"unit", unit_text(*step)}});
  }
  const FormulaInfo* formula = block.formula;
  return {{"number", block.number},
          {"id", formula == nullptr ? "" : std::string(formula->id)},
          {"title", block.title},
          {"citation", formula == nullptr ? "" : citation_text(formula->citation)},
          {"expression", texts.expression()},
          {"substituted", texts.substituted()},
          {"value", block.result->value},
          {"unit", unit_text(*block.result)},
          {"symbols", symbols},
          {"steps", steps},
          {"assumes", formula == nullptr ? "" : std::string(formula->assumes)}};
}

}  // namespace

std::string explain_text(const TraceRoots& roots) {
  const TraceReading reading = read_trace(roots);
  std::string text;
  for (const TraceBlock& block : reading.blocks) {
    const BlockTexts texts(reading, block);
    if (!text.empty()) text += '\n';
    text += block.formula == nullptr ? result_text(block, texts) : formula_text(block, texts);
  }
  return text;
}

Json explain_json(const TraceRoots& roots) {
  const TraceReading reading = read_trace(roots);
  Json blocks = Json::array();
  for (const TraceBlock& block : reading.blocks)
    blocks.push_back(block_json(block, BlockTexts(reading, block)));
  return blocks;
}

}  // namespace shardplan
