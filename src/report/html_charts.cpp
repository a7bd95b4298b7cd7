#include "report/html_charts.h"

#include <fmt/format.h>

#include <algorithm>

#include "reason/term_words.h"
#include "report/plan_words.h"
#include "units/format.h"

namespace shardplan {
namespace {

// Of a long pipeline the first and the last stages are drawn, and the fullest; the others on demand.
constexpr std::size_t kStagesDrawn = 16, kFirstDrawn = 8, kLastDrawn = 4;

std::string percent(double share) { return fmt::format("{:.3f}%", 100 * share); }

Markup rectangle(const std::string& kind, double from, double share, const std::string& title) {
  return element("rect." + kind, {{"x", percent(from)}, {"width", percent(share)}, {"height", "100%"}},
                 element("title", title));
}

std::string kind_of(MemoryTerm term) { return std::string("memory-") + name(term); }

/// What a term of the step does, for its colour.
const char* kind_of(TimeTerm term) {
  switch (term) {
    case TimeTerm::kGemm:
    case TimeTerm::kAttention:
    case TimeTerm::kMemoryBound:
    case TimeTerm::kLogits:
      return "compute";
    case TimeTerm::kRecompute:
      return "again";
    case TimeTerm::kTensor:
    case TimeTerm::kContext:
    case TimeTerm::kExpert:
    case TimeTerm::kData:
    case TimeTerm::kPipelineSends:
      return "communication";
    case TimeTerm::kBubble:
    case TimeTerm::kImbalance:
    case TimeTerm::kStragglers:
    case TimeTerm::kLaunch:
      return "waiting";
    case TimeTerm::kOptimizer:
    case TimeTerm::kOffload:
    case TimeTerm::kStep:
    case TimeTerm::kLoading:
      break;
  }
  return "between";
}

const std::vector<LegendEntry>& time_kinds() {
  static const std::vector<LegendEntry> kKinds{{"compute", "compute"},
                                               {"again", "recomputation"},
                                               {"communication", "exposed communication"},
                                               {"waiting", "waiting"},
                                               {"between", "optimizer, host, between steps"}};
  return kKinds;
}

/// Neighbouring stages that hold the same.
struct StageRun {
  std::size_t first = 0, last = 0;  // places
};

std::vector<StageRun> stage_runs(const StageMemory& stages) {
  std::vector<StageRun> runs;
  for (std::size_t s = 0; s < stages.by_stage.size(); ++s) {
    if (!runs.empty() && stages.by_stage[runs.back().first].terms == stages.by_stage[s].terms) {
      runs.back().last = s;
    } else {
      runs.push_back({s, s});
    }
  }
  return runs;
}

/// "stage 0", "stages 1 to 14", its words held together by spaces that do not break.
std::string stage_words(const StageMemory& stages, const StageRun& run) {
  const auto number = [&](std::size_t place) {
    return std::to_string(stages.first + static_cast<int>(place));
  };
  if (stages.stages == 1) return "each\u00a0GPU";
  if (run.first == run.last) return "stage\u00a0" + number(run.first);
  return "stages\u00a0" + number(run.first) + " to\u00a0" + number(run.last);
}

class MemoryFigure {
 public:
  MemoryFigure(const StageMemory& stages, const FormulaCards& cards, const TraceRoots& roots)
      : stages_(stages), cards_(cards), roots_(roots), runs_(stage_runs(stages)) {
    Bytes<> widest = std::max(stages.hbm, stages.usable);
    for (const MemoryBreakdown<>& m : stages.by_stage) {
      widest = std::max(widest, m.total());
      for (std::size_t i = 0; i < kMemoryTermCount; ++i) used_[i] = used_[i] || m.terms[i] > bytes(0);
    }
    scale_ = 1 / widest.raw();
  }

  Markup markup() const {
    std::vector<StageRun> drawn, rest;
    for (std::size_t i = 0; i < runs_.size(); ++i) (is_drawn(i) ? drawn : rest).push_back(runs_[i]);
    Markup markup =
        element("figure", element("div.bars", limits() + bars(drawn)) + legend(entries())) + table(drawn);
    if (!rest.empty()) markup += details("the other stages", element("div.bars", bars(rest)) + table(rest));
    return markup;
  }

 private:
  double share(Bytes<> b) const { return b.raw() * scale_; }

  bool is_drawn(std::size_t run) const {
    const bool fullest = runs_[run].first <= stages_.fullest && stages_.fullest <= runs_[run].last;
    return runs_.size() <= kStagesDrawn || run < kFirstDrawn || run + kLastDrawn >= runs_.size() || fullest;
  }

  /// The lines of what is usable and of all memory, with their names.
  Markup limits() const {
    const auto limit = [&](Bytes<> at, const char* what, int y) {
      return element("text", {{"x", percent(share(at))}, {"y", std::to_string(y)}, {"text-anchor", "end"}},
                     format(at) + " " + what + " \u2193");
    };
    const Markup svg = element("svg", {{"width", "100%"}, {"height", "30"}},
                               limit(stages_.usable, "usable", 12) + limit(stages_.hbm, "HBM", 27));
    return element("div.bar-row", element("span.label", "") + svg + element("span.total", ""));
  }

  Markup bars(const std::vector<StageRun>& runs) const {
    Markup rows;
    for (const StageRun& run : runs) rows += row(run);
    return rows;
  }

  Markup row(const StageRun& run) const {
    const MemoryBreakdown<>& m = stages_.by_stage[run.first];
    std::vector<BarPart> parts;
    for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
      const auto term = static_cast<MemoryTerm>(i);
      if (m.terms[i] > bytes(0))
        parts.push_back({kind_of(term), share(m.terms[i]), words(term) + (" " + format(m.terms[i]))});
    }
    return element("div.bar-row", element("span.label", stage_words(stages_, run)) +
                                      bar(parts, {share(stages_.usable), share(stages_.hbm)}) +
                                      element("span.total", format(m.total())));
  }

  std::vector<LegendEntry> entries() const {
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
      const auto term = static_cast<MemoryTerm>(i);
      if (used_[i]) entries.push_back({kind_of(term), words(term)});
    }
    return entries;
  }

  Markup table(const std::vector<StageRun>& runs) const {
    std::vector<std::string> head{"stage"};
    std::string alignment = "l";
    for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
      if (used_[i]) head.emplace_back(words(static_cast<MemoryTerm>(i)));
    }
    head.insert(head.end(), {"total", "of usable"});
    alignment.append(head.size() - 1, 'r');
    HtmlTable table("Memory of a GPU, by pipeline stage", alignment, head);
    for (const StageRun& run : runs) table.row(cells(run));
    return table.markup();
  }

  /// The fullest stage's numbers open their formulas.
  std::vector<Markup> cells(const StageRun& run) const {
    const MemoryBreakdown<>& m = stages_.by_stage[run.first];
    const bool fullest = run.first <= stages_.fullest && stages_.fullest <= run.last;
    std::vector<Markup> cells{stage_words(stages_, run) + (fullest && runs_.size() > 1 ? ", fullest" : "")};
    for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
      if (!used_[i]) continue;
      const std::string value = format(m.terms[i]);
      cells.push_back(fullest ? cards_.number(roots_, name(static_cast<MemoryTerm>(i)), value)
                              : Markup(value));
    }
    cells.emplace_back(format(m.total()));
    cells.emplace_back(format_percent((m.total() / stages_.usable).raw()));
    return cells;
  }

  const StageMemory& stages_;
  const FormulaCards& cards_;
  const TraceRoots& roots_;
  std::vector<StageRun> runs_;
  std::array<bool, kMemoryTermCount> used_{};
  double scale_ = 1;
};

/// The whole step as one bar, by what a GPU does.
Markup step_bar(const TimeBreakdown<>& time) {
  std::vector<BarPart> parts;
  std::vector<LegendEntry> entries;
  for (const LegendEntry& kind : time_kinds()) {
    const std::size_t before = parts.size();
    for (const TimeTerm term : by_exposed(time)) {
      const Seconds<> exposed = time[term].exposed();
      if (kind_of(term) != kind.kind || !(exposed > seconds(0))) continue;
      parts.push_back({kind.kind, (exposed / time.total()).raw(), words(term) + (" " + format(exposed))});
    }
    if (parts.size() > before) entries.push_back(kind);
  }
  entries.push_back({"communication beside", "hidden beside other work"});
  return element("figure", bar(parts) + legend(entries));
}

}  // namespace

Markup bar(const std::vector<BarPart>& parts, const std::vector<double>& marks) {
  Markup shapes;
  double at = 0;
  for (const BarPart& part : parts) {
    shapes += rectangle(part.kind, at, part.share, part.title);
    at += part.share;
  }
  for (const double mark : marks) {
    shapes += empty_element("line.mark", {{"x1", percent(mark)}, {"x2", percent(mark)}, {"y2", "100%"}});
  }
  return element("svg.bar", {{"aria-hidden", "true"}}, shapes);
}

Markup legend(const std::vector<LegendEntry>& entries) {
  Markup items;
  for (const LegendEntry& entry : entries) {
    const Markup swatch = element("svg.swatch", {{"aria-hidden", "true"}},
                                  empty_element("rect." + entry.kind, {{"width", "12"}, {"height", "12"}}));
    items += element("li", swatch + entry.label);
  }
  return element("ul.legend", items);
}

Markup memory_figure(const StageMemory& stages, const FormulaCards& cards, const TraceRoots& fullest) {
  return MemoryFigure(stages, cards, fullest).markup();
}

Markup time_figure(const TimeBreakdown<>& time, const FormulaCards& cards, const TraceRoots& roots) {
  const std::vector<TimeTerm> order = by_exposed(time);
  Seconds<> longest = seconds(0);
  for (const TimeTerm term : order) longest = std::max(longest, time[term].time);
  HtmlTable table("Terms of one step", "llrrrr", {"term", "", "exposed", "share of step", "hidden", "time"});
  for (const TimeTerm term : order) {
    const TimeEntry<>& e = time[term];
    const std::string kind = kind_of(term);
    table.row({words(term),
               bar({{kind, (e.exposed() / longest).raw(), "exposed " + format(e.exposed())},
                    {kind + " beside", (e.hidden / longest).raw(), "hidden " + format(e.hidden)}}),
               cards.number(roots, name(term), format(e.exposed())),
               format_percent((e.exposed() / time.total()).raw()),
               e.hidden > seconds(0) ? format(e.hidden) : "", format(e.time)});
  }
  table.last_row({"step", "", format(time.total()), "", "", ""});
  return step_bar(time) + table.markup();
}

}  // namespace shardplan
