#include "report/explain.h"

#include "report/explain_blocks.h"
#include "report/layout.h"
#include "report/table.h"

namespace shardplan {
namespace {

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

std::string result_text(const ExplainedBlock& block) {
  return equation(block.title + " ", "", {block.expression, block.substituted, block.value});
}

std::string symbols_text(const ExplainedBlock& block) {
  Table table("lll");
  for (const ExplainedSymbol& s : block.symbols) {
    table.row({s.name, "= " + s.value, s.meaning + (s.input ? " (" + s.source + ")" : "")});
  }
  return table.text("      ");
}

std::string formula_text(const ExplainedBlock& block) {
  const std::string number = "[" + std::to_string(block.number) + "] ";
  std::string text = number + block.title + "  (" + block.id + ")\n";
  text += equation("", "    ", {block.expression, block.substituted, block.value});
  for (const ExplainedStep& step : block.steps) {
    text += equation(step.name + " ", "      ", {step.expression, step.value});
  }
  text += symbols_text(block);
  text += wrap(block.assumes, "    assumes: ", "      ");
  text += wrap(block.citation, "    source: ", "      ");
  return text;
}

Json block_json(const ExplainedBlock& block) {
  Json symbols = Json::array(), steps = Json::array();
  for (const ExplainedSymbol& s : block.symbols) {
    symbols.push_back({{"symbol", s.name},
                       {"meaning", s.meaning},
                       {"value", s.node->value},
                       {"unit", s.unit},
                       {"source", s.source}});
  }
  for (const ExplainedStep& s : block.steps) {
    steps.push_back(
        {{"name", s.name}, {"expression", s.expression}, {"value", s.node->value}, {"unit", s.unit}});
  }
  return {{"number", block.number},
          {"id", block.id},
          {"title", block.title},
          {"citation", block.citation},
          {"expression", block.expression},
          {"substituted", block.substituted},
          {"value", block.block->result->value},
          {"unit", block.unit},
          {"symbols", symbols},
          {"steps", steps},
          {"assumes", block.assumes}};
}

}  // namespace

std::string explain_text(const TraceRoots& roots) {
  const TraceReading reading = read_trace(roots);
  std::string text;
  for (const ExplainedBlock& block : explained_blocks(reading)) {
    if (!text.empty()) text += '\n';
    text += block.number == 0 ? result_text(block) : formula_text(block);
  }
  return text;
}

Json explain_json(const TraceRoots& roots) {
  const TraceReading reading = read_trace(roots);
  Json blocks = Json::array();
  for (const ExplainedBlock& block : explained_blocks(reading)) blocks.push_back(block_json(block));
  return blocks;
}

}  // namespace shardplan
