#include "report/plan_words.h"

#include <algorithm>

#include "reason/remarks.h"
#include "report/memory_report.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

const char* why_rejected(Constraint constraint) {
  switch (constraint) {
    case Constraint::kState:
      return "state alone exceeds what is usable";
    case Constraint::kActivations:
      return "state and activations exceed it";
    case Constraint::kLogits:
      return "logits and loss exceed it";
    case Constraint::kHostMemory:
      return "what is offloaded exceeds the host's memory";
    default:
      return "working buffers exceed it";
  }
}

}  // namespace

std::vector<TimeTerm> by_exposed(const TimeBreakdown<>& time) {
  std::vector<TimeTerm> order;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    if (time.terms[i].time.raw() > 0) order.push_back(static_cast<TimeTerm>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](TimeTerm a, TimeTerm b) { return time[a].exposed() > time[b].exposed(); });
  return order;
}

std::string band_words(const Question& q, const Answer& a) {
  if (!a.step_band) return "no measured run compares with this one, so no error band is claimed";
  const ErrorBand& band = *a.step_band;
  const StepRange range = step_range(q.workload, band, a.result.best->step);
  return "of " + rows_text(band) + ", 8 in 10 took " + range_text(band) + " the prediction (" +
         format(range.low) + " to " + format(range.high) + ")" +
         (range.held ? "; no less than the batch takes to be read" : "");
}

std::vector<std::string> tight_sentences(const Answer& a) {
  if (a.verdict != Verdict::kTight) return {};
  const MemoryAccount& memory = a.memory.front();
  const std::string usable = format(memory.usable) + " usable";
  std::vector<std::string> lines{"tight: " + memory_band_words(*a.memory_band, memory.worst().total()) +
                                 ", of " + usable};
  if (a.clear_left) {
    lines.emplace_back("stopped before a plan was found that fits at the far end of that band");
  } else if (!a.best_clear) {
    lines.emplace_back("no plan fits at the far end of that band");
  } else {
    const Estimate& clear = *a.best_clear;
    lines.push_back("clearly fits: " + canonical(clear.plan) + ", " + format(clear.step) + " a step (+" +
                    format_percent((clear.step / a.result.best->step).raw() - 1) + "), " +
                    format(bytes(a.memory_band->high(clear.memory.total().raw()))) +
                    " at the band's far end, of " + usable);
  }
  return lines;
}

std::vector<CensusRow> census_rows(const Census& c) {
  std::vector<CensusRow> rows;
  const auto add = [&](std::string what, std::int64_t n, const char* why) {
    if (n > 0) rows.push_back({std::move(what), n, why});
  };
  // Why the best plan is the optimum of the model although not every plan was looked at.
  add("excluded: slower", c.slower, "take longer than the best plans, by a bound");
  add("excluded: larger", c.larger, "do not fit, by a bound on what they keep at the least");
  add("excluded: alike", c.alike, "number the ranks in another order and have every group on the same tiers");
  for (int i = 0; i < kConstraintCount; ++i) {
    const auto constraint = static_cast<Constraint>(i);
    add(std::string("rejected: ") + name(constraint), c.rejected[static_cast<std::size_t>(i)],
        why_rejected(constraint));
  }
  return rows;
}

std::string searched_words(const Census& c, Seconds<> time) {
  return count(c.considered) + " legal plans in " + format(time) + ": the memory or step time of " +
         count(c.judged()) + " was worked out, " + count(c.feasible) + " fit";
}

std::string miss_words(const NearestMiss& miss) {
  return canonical(miss.plan) + ", " + format(miss.shortfall) + " too much on stage " +
         std::to_string(miss.stage);
}

std::string stopped_words(const SearchResult& result) {
  return std::string("stopped before its end: ") + (result.best ? "better " : "") +
         "plans may be among those that were not searched";
}

std::string no_plan_words(const Question& q, const Answer& a) {
  return std::string(a.result.stopped ? "no plan found yet: " : "no plan fits: ") + q.model.name + " on " +
         count(q.cluster.gpus) + " x " + q.cluster.device.name;
}

}  // namespace shardplan
