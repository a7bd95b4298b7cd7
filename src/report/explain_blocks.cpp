#include "report/explain_blocks.h"

#include "formula/citations.h"
#include "formula/formula.h"
#include "report/trace_text.h"

namespace shardplan {
namespace {

std::string citation_text(const Citation& citation) {
  const Work* work = find_citation(citation.id);
  return std::string(work == nullptr ? citation.id : work->reference) + "; " + std::string(citation.where);
}

/// The expressions of one block.
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

  ExplainedSymbol symbol(const TraceNode& symbol) const {
    ExplainedSymbol read{&symbol, symbol.name, value_text(symbol), unit_text(symbol), "", "computed", false};
    const TraceNode& bound = binding_of(symbol);
    switch (bound.op) {
      case TraceOp::kLeaf:
        read.meaning = bound.name;
        read.source = bound.source;
        read.input = !bound.source.empty();
        break;
      case TraceOp::kNamed:
        read.meaning = bound.name + " = " + caller_text(*bound.operands[0]);
        break;
      case TraceOp::kFormula:
        read.meaning = caller_text(bound) + " " + bound.name;
        break;
      case TraceOp::kConstant:
        read.meaning = "constant";
        read.source = "the method";
        break;
      default:
        read.meaning = caller_text(bound);
    }
    return read;
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

ExplainedBlock explained(const TraceReading& reading, const TraceBlock& block) {
  const BlockTexts texts(reading, block);
  ExplainedBlock e;
  e.block = &block;
  e.number = block.number;
  e.title = block.title;
  e.expression = texts.expression();
  e.substituted = texts.substituted();
  e.value = value_text(*block.result);
  e.unit = unit_text(*block.result);
  if (const FormulaInfo* formula = block.formula) {
    e.id = formula->id;
    e.citation = citation_text(formula->citation);
    e.assumes = formula->assumes;
  }
  for (const TraceNode* symbol : block.symbols) e.symbols.push_back(texts.symbol(*symbol));
  for (const TraceNode* step : block.steps) {
    e.steps.push_back(
        {step, step->name, texts.body_text(*step->operands[0]), value_text(*step), unit_text(*step)});
  }
  return e;
}

}  // namespace

std::vector<ExplainedBlock> explained_blocks(const TraceReading& reading) {
  std::vector<ExplainedBlock> blocks;
  for (const TraceBlock& block : reading.blocks) blocks.push_back(explained(reading, block));
  return blocks;
}

}  // namespace shardplan
