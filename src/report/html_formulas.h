// The formulas of a page: a card for each, opened by the numbers that it made.
//
//   FormulaCards cards(trace.roots());
//   cards.number(trace.time, "gemm", "42.26 s")   // a button that opens the card
//   cards.markup()                                // all cards, once, at the end of the page
//
// A card is a popover: keyboard and pointer open and close it without a script, and print shows them all. The
// cards of a formula's inputs open from it. Not here: how the blocks are made (explain_blocks.h).
#pragma once

#include "reason/answer.h"
#include "report/explain_blocks.h"
#include "report/html_parts.h"

namespace shardplan {

class FormulaCards {
 public:
  explicit FormulaCards(const TraceRoots& roots);
  bool empty() const { return blocks_.empty(); }
  /// A value as it is printed, which opens the card of the root with that name; plain where there is none.
  Markup number(const TraceRoots& roots, std::string_view name, const std::string& value) const;
  /// A sentence in which each number that a formula made, to its last bit, opens its card.
  Markup sentence(const std::string& words, const std::vector<StatedFigure>& figures) const;
  Markup markup() const;
  /// The part of a page that has them; empty where there are none.
  Section section() const;

 private:
  Markup with_links(const std::string& text) const;
  Markup symbols(const ExplainedBlock& block) const;
  Markup card(std::size_t at) const;

  TraceReading reading_;
  std::vector<ExplainedBlock> blocks_;
  std::vector<std::size_t> place_of_number_;
};

}  // namespace shardplan
