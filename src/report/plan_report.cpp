#include "report/plan_report.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "reason/remarks.h"
#include "reason/term_words.h"
#include "report/finding_lines.h"
#include "report/memory_report.h"
#include "report/sensitivity_report.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

std::string time_lines(const TimeBreakdown<>& time) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    if (time.terms[i].time.raw() > 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return time.terms[a].exposed() > time.terms[b].exposed();
  });
  Table table;
  table.row({"", "exposed", "share", "hidden", ""});
  for (const std::size_t i : order) {
    const TimeEntry<>& e = time.terms[i];
    table.row({words(static_cast<TimeTerm>(i)), format(e.exposed()),
               format_percent((e.exposed() / time.total()).raw()), e.hidden.raw() > 0 ? format(e.hidden) : "",
               i == order.front() ? "largest" : ""});
  }
  table.row({"step", format(time.total())});
  return table.text("  ", true);
}

std::string utilisation_lines(const std::vector<Utilisation>& utilisations) {
  Table table("lrrl");
  table.row({"", "MFU", "HFU", "counted so by"});
  for (const Utilisation& u : utilisations) {
    table.row({u.convention, format_percent(u.mfu.raw()), format_percent(u.hfu.raw()), u.where});
  }
  std::string text = table.text("  ", true);
  for (const Utilisation& u : utilisations) {
    if (more_than_all(u)) text += "  " + more_than_all_words(u) + "\n";
  }
  return text;
}

std::string runner_lines(const Answer& a) {
  Table table("lrrrl");
  const Estimate& best = *a.result.best;
  for (const Estimate& e : a.result.runners_up) {
    const double slower = e.step.raw() / best.step.raw() - 1;
    const auto tie = tie_between(best, e);
    table.row({canonical(e.plan), format(e.step), "+" + format_percent(slower),
               format(e.headroom()) + " free", tie ? tie_words(*tie) : ""});
  }
  return table.empty() ? "  no other layout fits\n" : table.text();
}

std::string census_lines(const SearchResult& result, const SearchTime& time) {
  const Census& c = result.census;
  std::string text;
  if (result.stopped) {
    text = std::string("stopped before its end: ") + (result.best ? "better " : "") +
           "plans may be among those that were not searched\n";
  }
  text += "searched " + count(c.considered) + " legal plans in " + format(seconds(time.seconds)) +
          ": the memory or step time of " + count(c.judged()) + " was worked out, " + count(c.feasible) +
          " fit\n";
  Table table;
  // Why the best plan is the optimum of the model although not every plan was looked at.
  if (c.slower > 0)
    table.row({"excluded: slower", count(c.slower), "take longer than the best plans, by a bound"});
  if (c.larger > 0)
    table.row({"excluded: larger", count(c.larger), "do not fit, by a bound on what they keep at the least"});
  if (c.alike > 0) {
    table.row({"excluded: alike", count(c.alike),
               "number the ranks in another order and have every group on the same tiers"});
  }
  for (int i = 0; i < kConstraintCount; ++i) {
    const std::int64_t n = c.rejected[static_cast<std::size_t>(i)];
    if (n == 0) continue;
    const Constraint constraint = static_cast<Constraint>(i);
    const char* why = constraint == Constraint::kState         ? "state alone exceeds what is usable"
                      : constraint == Constraint::kActivations ? "state and activations exceed it"
                      : constraint == Constraint::kLogits      ? "logits and loss exceed it"
                      : constraint == Constraint::kHostMemory  ? "what is offloaded exceeds the host's memory"
                                                               : "working buffers exceed it";
    table.row({std::string("rejected: ") + name(constraint), count(n), why});
  }
  text += table.text("  ", true);
  if (c.nearest_miss && c.feasible == 0) {
    text += "  nearest miss: " + canonical(c.nearest_miss->plan) + ", " + format(c.nearest_miss->shortfall) +
            " too much on stage " + std::to_string(c.nearest_miss->stage) + "\n";
  }
  return text;
}

std::string assumed_lines(const Question& q) {
  std::string text = q.notes.empty() ? "" : "\nnotes\n";
  for (const std::string& line : q.notes) text += "  " + line + "\n";
  text += "\nassumed\n";
  for (const std::string& line : q.assumed) text += "  " + line + "\n";
  return text;
}

std::string question_lines(const Question& q) {
  const std::string devices = count(q.cluster.gpus) + " x " + q.cluster.device.name;
  std::string text =
      "model    " + q.model.name + ": " + format_count(state_parameters(q.model)) + " parameters";
  for (const NamedCount& extra : q.model.extras) {
    text += "; not counted: " + extra.name + " " + count(extra.parameters);
  }
  text += "\ncluster  " + (q.cluster.name == devices ? "" : q.cluster.name + ": ") + devices;
  return text + "\nbatch    " + count(q.workload.global_batch) + " sequences of " +
         count(q.workload.sequence) + " tokens\n";
}

std::string band_line(const Question& q, const Answer& a) {
  const Seconds<> step = a.result.best->step;
  if (!a.step_band)
    return "step " + format(step) + "; no measured run compares with this one, so no error band is claimed\n";
  const ErrorBand& band = *a.step_band;
  const StepRange range = step_range(q.workload, band, step);
  return "step " + format(step) + "; of " + rows_text(band) + ", 8 in 10 took " + range_text(band) +
         " the prediction (" + format(range.low) + " to " + format(range.high) + ")" +
         (range.held ? "; no less than the batch takes to be read" : "") + "\n";
}

/// Where the limit lies inside the error band of the best plan's memory, and the fastest plan out of its
/// reach.
std::string tight_lines(const Answer& a) {
  if (a.verdict != Verdict::kTight) return "";
  const MemoryAccount& memory = a.memory.front();
  const std::string usable = format(memory.usable) + " usable\n";
  std::string text = "tight: " + memory_band_words(*a.memory_band, memory.worst().total()) + ", of " + usable;
  if (a.clear_left) return text + "stopped before a plan was found that fits at the far end of that band\n";
  if (!a.best_clear) return text + "no plan fits at the far end of that band\n";
  const Estimate& clear = *a.best_clear;
  return text + "clearly fits: " + canonical(clear.plan) + ", " + format(clear.step) + " a step (+" +
         format_percent((clear.step / a.result.best->step).raw() - 1) + "), " +
         format(bytes(a.memory_band->high(clear.memory.total().raw()))) + " at the band's far end, of " +
         usable;
}

std::string nearest_lines(const Answer& a) {
  Table table("lrrl");
  table.row({"", "measured", "predicted", ""});
  for (const NearRun& n : a.nearest) {
    table.row({title(n.run.profile), format(n.run.measured), format(n.run.predicted), n.run.id});
  }
  return a.nearest.empty()
             ? ""
             : "\nmeasured runs nearest to this one, and what they are predicted\n" + table.text();
}

std::string best_lines(const Question& q, const Answer& a) {
  const Estimate& e = *a.result.best;
  std::string text = canonical(e.plan) + ": " + format(e.step) + " a step, " + format(e.tokens_per_gpu) +
                     " a GPU, MFU " + format_percent(e.mfu.raw()) + " (HFU " + format_percent(e.hfu.raw()) +
                     ")\n";
  text += a.binding.statement.empty() ? "" : a.binding.statement + "\n";
  text += band_line(q, a) + tight_lines(a) + "\n" + question_lines(q);
  text +=
      "\ntime of one step (MFU: " + std::string(flops_convention(q.workload)) + ")\n" + time_lines(e.time);
  text += "\nthe same step under each convention in use\n" + utilisation_lines(a.utilisations.front());
  text += "\nmemory of the fullest GPU (stage " + std::to_string(e.fullest_stage) + " of " +
          std::to_string(e.plan.pp) + ")\n" + memory_lines(e.memory, e.usable);
  const auto& stages = a.memory.front().by_stage;
  if (stages.size() > 1) text += "\n" + stage_lines(stages);
  text += "\nrunners-up, the best plan of each other layout\n" + runner_lines(a);
  return text + nearest_lines(a);
}

}  // namespace

std::string plan_text(const Question& q, const Answer& a, const SearchTime& time) {
  std::string text;
  if (a.result.best) {
    text = best_lines(q, a);
  } else {
    text = std::string(a.result.stopped ? "no plan found yet: " : "no plan fits: ") + q.model.name + " on " +
           count(q.cluster.gpus) + " x " + q.cluster.device.name + "\n" + a.binding.statement + "\n";
  }
  return text + "\n" + census_lines(a.result, time) + sensitivity_lines(a) + finding_lines(a) +
         assumed_lines(q);
}

Json plan_answer_json(const Question& q, const Answer& a, const SearchTime& time) {
  const Census& census = a.result.census;
  Json json{{"schema_version", kSchemaVersion}, {"feasible", a.result.best.has_value()}};
  if (!a.result.best && a.result.stopped) json["feasible"] = nullptr;  // nobody knows
  json["best"] = nullptr;
  if (a.result.best) {
    json["best"] = estimate_json(q, a, 0);
  }
  json["best_clear"] = best_clear_json(a);
  json["runners_up"] = Json::array();
  for (std::size_t i = 0; i < a.result.runners_up.size(); ++i) {
    json["runners_up"].push_back(estimate_json(q, a, i + 1));
  }
  json["census"] = census_json(census);
  json["search"] = {{"plans", census.considered},
                    {"stopped", a.result.stopped},
                    {"not_looked_at", a.not_looked_at},
                    {"judged", census.judged()},
                    {"time_s", time.seconds},
                    {"plans_per_s", static_cast<double>(census.judged()) / std::max(time.seconds, 1e-9)}};
  add_findings(a, json);
  json["sensitivity"] = sensitivity_json(a);
  json["nearest_measured"] = nearest_json(a.nearest);
  json["model"] = model_json(q.model, state_parameters(q.model));
  json["assumed"] = q.assumed;
  json["notes"] = q.notes;
  json["cluster"] = {{"name", q.cluster.name}, {"gpu", q.cluster.device.name}, {"gpus", q.cluster.gpus}};
  json["workload"] = {{"sequence_tokens", q.workload.sequence},
                      {"global_batch_sequences", q.workload.global_batch}};
  return json;
}

}  // namespace shardplan
