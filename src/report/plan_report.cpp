#include "report/plan_report.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "reason/remarks.h"
#include "reason/term_words.h"
#include "report/finding_lines.h"
#include "report/memory_report.h"
#include "report/plan_words.h"
#include "report/sensitivity_report.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

std::string time_lines(const TimeBreakdown<>& time) {
  const std::vector<TimeTerm> order = by_exposed(time);
  Table table;
  table.row({"", "exposed", "share", "hidden", ""});
  for (const TimeTerm term : order) {
    const TimeEntry<>& e = time[term];
    table.row({words(term), format(e.exposed()), format_percent((e.exposed() / time.total()).raw()),
               e.hidden.raw() > 0 ? format(e.hidden) : "", term == order.front() ? "largest" : ""});
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
  std::string text = result.stopped ? stopped_words(result) + "\n" : "";
  text += "searched " + searched_words(c, seconds(time.seconds)) + "\n";
  Table table;
  for (const CensusRow& row : census_rows(c)) table.row({row.what, count(row.count), row.why});
  text += table.text("  ", true);
  if (c.nearest_miss && c.feasible == 0) text += "  nearest miss: " + miss_words(*c.nearest_miss) + "\n";
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
  return text + "\nbatch    " + counted(q.workload.global_batch, "sequence") + " of " +
         counted(q.workload.sequence, "token") + "\n";
}

/// Why a plan that fits may not.
std::string tight_lines(const Answer& a) {
  std::string text;
  for (const std::string& sentence : tight_sentences(a)) text += sentence + "\n";
  return text;
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
  text +=
      "step " + format(e.step) + "; " + band_words(q, a) + "\n" + tight_lines(a) + "\n" + question_lines(q);
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
    text = no_plan_words(q, a) + "\n" + a.binding.statement + "\n" + nothing_fits_lines(a);
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
  json["nothing_fits"] = nothing_fits_json(a.nothing_fits);
  json["sensitivity"] = sensitivity_json(a);
  json["nearest_measured"] = nearest_json(a.nearest);
  json["model"] = model_json(q.model, state_parameters(q.model));
  json["assumed"] = q.assumed;
  json["notes"] = q.notes;
  json["cluster"] = cluster_json(q.cluster);
  json["workload"] = {{"sequence_tokens", q.workload.sequence},
                      {"global_batch_sequences", q.workload.global_batch}};
  return json;
}

}  // namespace shardplan
