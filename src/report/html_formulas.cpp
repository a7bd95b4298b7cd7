#include "report/html_formulas.h"

#include <algorithm>

#include "units/format.h"

namespace shardplan {
namespace {

std::string card_id(std::size_t at) { return "formula-" + std::to_string(at + 1); }

/// `more` says what the text of the button leaves out.
Markup opener(std::size_t at, const char* tag, const Attributes& more, const std::string& text) {
  Attributes attributes{{"type", "button"}, {"popovertarget", card_id(at)}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return element(tag, attributes, text);
}

Markup value_button(std::size_t at, const std::string& value) {
  return opener(at, "button.value", {{"data-card", std::to_string(at + 1)}}, value);
}

/// "= a" lines; one that says what the line above says is left out.
Markup equation(const std::vector<Markup>& readings) {
  Markup lines;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    if (i > 0 && readings[i].html() == readings[i - 1].html()) continue;
    lines += element("div", Markup("= ") + readings[i]);
  }
  return element("div.equation", lines);
}

}  // namespace

FormulaCards::FormulaCards(const TraceRoots& roots)
    : reading_(read_trace(roots)), blocks_(explained_blocks(reading_)) {
  place_of_number_.resize(blocks_.size() + 1, blocks_.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].number > 0) place_of_number_[static_cast<std::size_t>(blocks_[i].number)] = i;
  }
}

Markup FormulaCards::number(const TraceRoots& roots, std::string_view name, const std::string& value) const {
  const auto root = std::find_if(roots.begin(), roots.end(), [&](const auto& r) { return r.first == name; });
  if (root == roots.end()) return value;
  const TraceNode* node = root->second.get();
  if (const int number = reading_.number_of(*node))
    return value_button(place_of_number_[static_cast<std::size_t>(number)], value);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].block->result == node) return value_button(i, value);
  }
  return value;
}

namespace {

/// Where the value stands in the sentence as a number of its own, not as the end of a longer one.
std::size_t place_of(const std::string& value, const std::string& words, std::size_t from) {
  for (std::size_t at = words.find(value, from); at != std::string::npos; at = words.find(value, at + 1)) {
    const char before = at == 0 ? ' ' : words[at - 1];
    const bool inside = (before >= '0' && before <= '9') || before == '.' || before == ',';
    if (!inside) return at;
  }
  return std::string::npos;
}

}  // namespace

Markup FormulaCards::sentence(const std::string& words, const std::vector<StatedFigure>& figures) const {
  Markup markup;
  std::size_t from = 0;
  for (const StatedFigure& figure : figures) {
    for (std::size_t i = 0; i < blocks_.size() && !figure.unit.empty(); ++i) {
      const ExplainedBlock& block = blocks_[i];
      if (block.block->result->value != figure.value) continue;
      const std::size_t at = place_of(block.value, words, from);
      if (at == std::string::npos) continue;
      markup += breakable(words.substr(from, at - from)) + value_button(i, block.value);
      from = at + block.value.size();
      break;
    }
  }
  return markup + breakable(words.substr(from));
}

/// "[12]", the number of a formula's block, as a button that opens its card.
Markup FormulaCards::with_links(const std::string& text) const {
  Markup markup;
  std::size_t from = 0;
  for (std::size_t open = text.find('['); open != std::string::npos; open = text.find('[', open + 1)) {
    const std::size_t close = text.find(']', open);
    if (close == std::string::npos) break;
    const auto number = parse_number(std::string_view(text).substr(open + 1, close - open - 1));
    if (!number || *number < 1 || *number >= static_cast<double>(place_of_number_.size())) continue;
    const std::size_t at = place_of_number_[static_cast<std::size_t>(*number)];
    if (at == blocks_.size()) continue;
    markup +=
        Markup(text.substr(from, open - from)) +
        opener(at, "button.reference", {{"title", blocks_[at].title}}, "[" + std::to_string(at + 1) + "]");
    from = close + 1;
  }
  return markup + text.substr(from);
}

Markup FormulaCards::symbols(const ExplainedBlock& block) const {
  Markup rows;
  for (const ExplainedSymbol& s : block.symbols) {
    Markup says = element("b", s.value) + " " + with_links(s.meaning);
    if (s.input) says += element("span.source", " " + s.source);
    rows += element("dt", s.name) + element("dd", says);
  }
  for (const ExplainedStep& s : block.steps) {
    rows += element("dt", s.name) + element("dd", element("b", s.value) + " = " + with_links(s.expression));
  }
  return rows.empty() ? Markup() : element("dl.symbols", rows);
}

Markup FormulaCards::card(std::size_t at) const {
  const ExplainedBlock& block = blocks_[at];
  const std::string id = card_id(at), title_id = id + "-title";
  Markup content = element("h3", {{"id", title_id}, {"data-card", std::to_string(at + 1)}}, block.title);
  if (!block.id.empty()) content += element("p.identifier", element("code", block.id));
  content += equation({with_links(block.expression), block.substituted, element("b", block.value)});
  content += symbols(block);
  if (!block.assumes.empty()) content += paragraph(element("b", "assumes ") + block.assumes);
  if (!block.citation.empty())
    content += paragraph(element("b", "source ") + element("cite", block.citation));
  content += element("button.close",
                     {{"type", "button"}, {"popovertarget", id}, {"popovertargetaction", "hide"}}, "Close");
  return element("article.card", {{"id", id}, {"popover", "auto"}, {"aria-labelledby", title_id}}, content) +
         Markup::verbatim("\n");
}

Markup FormulaCards::markup() const {
  Markup cards;
  for (std::size_t i = 0; i < blocks_.size(); ++i) cards += card(i);
  return cards;
}

Section FormulaCards::section() const {
  if (empty()) return {};
  return {"Formulas", "formulas",
          element("p.hint", Markup("Each opens from the numbers that it made. ") +
                                element("a", {{"href", "#formulas"}}, "Show all of them here")) +
              markup()};
}

}  // namespace shardplan
