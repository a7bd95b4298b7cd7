#include "report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "catalog/plan.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kHour = 3600, kDay = 24 * kHour, kKilowattHour = 3.6e6, kKilowatt = 1e3, kMillion = 1e6;

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }
std::string gpus(std::int64_t n) { return counted(n, "GPU"); }

std::string days(Seconds<> time) {
  const bool hours = time.raw() < kDay;
  const std::string number = format_number(time.raw() / (hours ? kHour : kDay));
  return number + (hours ? " hour" : " day") + (number == "1" ? "" : "s");
}

/// "15 T tokens"
std::string many_tokens(Tokens<> n) {
  static constexpr std::array<std::pair<double, const char*>, 4> kPrefixes{
      {{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1, ""}}};
  for (const auto& [factor, prefix] : kPrefixes) {
    if (n.raw() >= factor) return format_number(n.raw() / factor) + prefix + " tokens";
  }
  return format(n);
}

std::string energy(double joules) { return format_number(joules / kKilowattHour) + " kWh"; }

/// What the objective makes best, in words.
std::string value_words(const RunAnswer& run) {
  const ObjectiveValue v = objective_value(run.objective, *run.best);
  switch (run.objective.kind) {
    case ObjectiveKind::kStepTime:
      return format(seconds(v.value)) + " a step";
    case ObjectiveKind::kTokensPerGpu:
      return format_number(v.value) + " tokens/s a GPU";
    case ObjectiveKind::kCost:
      return run.totals->cost ? format(usd(v.value))
                              : format(usd(v.value * kMillion)) + " for a million tokens";
    case ObjectiveKind::kEnergy:
      return run.totals->joules ? energy(v.value) : format_number(v.value) + " J a token";
    case ObjectiveKind::kGpus:
      break;
  }
  return "done in time";
}

std::string range_words(const GpuRange& range) {
  return count(range.first()) + " to " + count(range.most) + " GPUs" +
         (range.step > 1 ? " in steps of " + count(range.step) : "");
}

/// "cost: $1,265,123 on 512 GPUs, the best of the sizes 1 to 16,384 GPUs".
std::string headline(const RunAnswer& run) {
  const std::string kind = std::string(name(run.objective.kind)) + ": ";
  const bool stopped = run.sizes && run.sizes->search.stopped;
  if (!run.best) {
    if (!run.sizes) return "";
    const std::string range = range_words(run.sizes->range);
    if (!stopped) return kind + "no size from " + range + " holds a plan";
    return kind + (run.sizes->search.only_bounded
                       ? "stopped while it was worked out what each size can reach at best: none from " +
                             range + " was searched"
                       : "stopped before a plan was found on a size from " + range);
  }
  const std::string on = " on " + gpus(run.best->plan.gpus());
  if (!run.totals->in_time) {
    const std::string takes =
        days(*run.totals->time) + on + ", and the deadline is " + days(*run.objective.deadline);
    return kind +
           (run.sizes ? "no size from " + range_words(run.sizes->range) + " is done in time; the soonest" +
                            (stopped ? " so far" : "") + " takes "
                      : "not done in time: ") +
           takes;
  }
  if (!run.sizes) return kind + value_words(run) + on + "; on one size every objective prefers the same plan";
  const std::string of = run.objective.kind == ObjectiveKind::kGpus ? ", the fewest" : ", the best";
  return kind + value_words(run) + on + of + (stopped ? " so far" : "") + " of all sizes from " +
         range_words(run.sizes->range);
}

std::string told_by(const Source& source) { return "  [" + label(source) + "]"; }

std::string price_words(const RunAnswer& run) {
  const RunTotals& t = *run.totals;
  const std::string interrupted =
      t.cost && run.interrupted ? ", " + format(*run.interrupted->cost) + " with interruptions" : "";
  return (t.cost ? format(*t.cost) + interrupted + "; " : "") + "$" + format_number(hourly(*t.spending)) +
         " an hour" +
         (run.objective.spending ? " of at most $" + format_number(hourly(*run.objective.spending)) : "") +
         ", " + format(kMillion * *t.cost_of_token) + " for a million tokens, at $" +
         format_number(hourly(run.objective.price->value)) + " an hour and GPU" +
         told_by(run.objective.price->source);
}

std::string watt_words(const RunAnswer& run) {
  const RunTotals& t = *run.totals;
  const double watts = run.objective.watts->value;
  const double all = watts * static_cast<double>(run.best->plan.gpus());
  return (t.joules ? energy(*t.joules) + "; " : "") + format_number(all / kKilowatt) + " kW, " +
         format_number(*t.joules_of_token) + " J a token, at " + format_number(watts) + " W a GPU" +
         told_by(run.objective.watts->source);
}

std::string time_words(const RunAnswer& run) {
  const Seconds<> time = *run.totals->time;
  std::string text = days(time) + " for " + many_tokens(*run.objective.budget);
  if (run.interrupted) {
    text += ", " + days(*run.interrupted->time) + " with interruptions and checkpoints, which leave " +
            format_percent(run.interrupted->effective.raw()) + " to steps that count";
  }
  if (!run.objective.deadline) return text;
  const Seconds<> deadline = *run.objective.deadline;
  // What the run is held against, as the steps alone are what is certain.
  return text + "; " + (run.interrupted ? "without them " : "") +
         (time <= deadline ? days(deadline - time) + " before" : days(time - deadline) + " after") +
         " the deadline of " + days(deadline);
}

std::string sizes_words(const SizesAnswer& sizes) {
  const SizeCensus& c = sizes.search.census;
  const std::int64_t n = sizes.range.count(), precisions = n > 0 ? c.sizes / n : 0;
  std::string text = counted(n, "size") + ", " + range_words(sizes.range) +
                     (precisions > 1 ? ", each in " + count(precisions) + " precisions" : "") + ": " +
                     count(c.searched) + " searched";
  if (c.unfit > 0) text += " (nothing fits on " + count(c.unfit) + ")";
  if (c.excluded > 0) text += ", " + count(c.excluded) + " excluded by a bound on their times";
  if (c.illegal > 0) text += ", " + count(c.illegal) + " without a legal plan";
  if (c.left > 0) text += ", " + count(c.left) + " not looked at to the end, as the search was stopped";
  return text;
}

Json optional_json(const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); }
template <class Q>
Json optional_json(const std::optional<Q>& v) {
  return v ? Json(v->raw()) : Json(nullptr);
}

Json run_json(const RunAnswer& run) {
  const Objective& o = run.objective;
  Json json{{"tokens", optional_json(o.budget)}, {"deadline_s", optional_json(o.deadline)}};
  const RunTotals t = run.totals.value_or(RunTotals{});
  json["time_s"] = optional_json(t.time);
  json["in_time"] = run.totals && o.deadline ? Json(t.in_time) : Json(nullptr);
  json["price_usd_per_gpu_s"] = o.price ? Json(o.price->value.raw()) : Json(nullptr);
  json["price_source"] = o.price ? source_json(o.price->source) : Json(nullptr);
  json["budget_usd_per_s"] = optional_json(o.spending);
  json["spending_usd_per_s"] = optional_json(t.spending);
  json["cost_usd"] = optional_json(t.cost);
  const Interrupted i = run.interrupted.value_or(Interrupted{});
  json["effective_time_share"] = run.interrupted ? Json(i.effective.raw()) : Json(nullptr);
  json["interrupted_time_s"] = optional_json(i.time);
  json["interrupted_cost_usd"] = optional_json(i.cost);
  json["cost_of_token_usd"] = optional_json(t.cost_of_token);
  json["power_per_gpu_w"] = o.watts ? Json(o.watts->value) : Json(nullptr);
  json["power_source"] = o.watts ? source_json(o.watts->source) : Json(nullptr);
  json["energy_j"] = optional_json(t.joules);
  json["energy_of_token_j"] = optional_json(t.joules_of_token);
  return json;
}

Json sizes_json(const SizesAnswer& sizes) {
  const SizeCensus& c = sizes.search.census;
  return {{"least_gpus", sizes.range.first()},
          {"most_gpus", sizes.range.most},
          {"step_gpus", sizes.range.step},
          {"sizes", sizes.range.count()},
          {"questions", c.sizes},
          {"searched", c.searched},
          {"nothing_fits", c.unfit},
          {"excluded_by_bound", c.excluded},
          {"without_legal_plan", c.illegal},
          {"not_looked_at", c.left},
          {"only_bounded", sizes.search.only_bounded}};
}

/// "precision fp8 is the fastest", and the best plan of each.
std::string precision_lines(const std::vector<PrecisionAnswer>& precisions) {
  const auto chosen =
      std::find_if(precisions.begin(), precisions.end(), [](const PrecisionAnswer& p) { return p.chosen; });
  if (chosen == precisions.end()) return "";
  Table table("lrrll");
  for (const PrecisionAnswer& p : precisions) {
    if (!p.best) {
      table.row({p.name, "", "", p.impossible.empty() ? "nothing fits" : p.impossible});
      continue;
    }
    const double more = (p.best->step / chosen->best->step).raw() - 1;
    table.row({p.name, format(p.best->step), p.chosen ? "" : "+" + format_percent(more),
               canonical(p.best->plan), p.chosen ? "chosen" : ""});
  }
  return "precision " + chosen->name +
         (chosen->best ? ": the shortest step of those asked for, each with its best plan\n"
                       : ": nothing fits, in no precision asked for\n") +
         table.text();
}

Json precisions_json(const std::vector<PrecisionAnswer>& precisions) {
  Json json = Json::array();
  for (const PrecisionAnswer& p : precisions) {
    json.push_back({{"precision", p.name},
                    {"chosen", p.chosen},
                    {"possible", p.impossible.empty()},
                    {"reason", p.impossible.empty() ? Json(nullptr) : Json(p.impossible)},
                    {"feasible", p.best.has_value()},
                    {"plan", p.best ? plan_json(p.best->plan) : Json(nullptr)},
                    {"step_time_s", p.best ? Json(p.best->step.raw()) : Json(nullptr)},
                    {"tokens_per_s_per_gpu", p.best ? Json(p.best->tokens_per_gpu.raw()) : Json(nullptr)},
                    {"headroom_bytes", p.best ? Json(p.best->headroom().raw()) : Json(nullptr)}});
  }
  return json;
}

bool is_best(const RunAnswer& run, const Estimate& e) { return run.best && run.best->plan == e.plan; }

}  // namespace

std::string run_headline(const RunAnswer& run) {
  return run.objective.told || run.sizes || (run.totals && !run.totals->in_time) ? headline(run) : "";
}

std::vector<RunFact> run_facts(const RunAnswer& run) {
  const Objective& o = run.objective;
  std::vector<RunFact> facts;
  if (run.totals) {
    if (run.totals->time) facts.push_back({"run", time_words(run)});
    if (o.price) facts.push_back({"cost", price_words(run)});
    if (o.watts) facts.push_back({"energy", watt_words(run)});
  }
  if (run.sizes) facts.push_back({"sizes", sizes_words(*run.sizes)});
  return facts;
}

std::string run_text(const RunAnswer& run) {
  Table table("ll");
  for (const RunFact& fact : run_facts(run)) table.row({fact.what, fact.words});
  const std::string head = run_headline(run);
  const std::string text =
      (head.empty() ? "" : head + "\n") + table.text("") + precision_lines(run.precisions);
  return text.empty() ? text : text + "\n";
}

void add_run(const RunAnswer& run, Json& json) {
  if (run.objective.told || run.sizes) {
    json["objective"] = {{"kind", name(run.objective.kind)}, {"value", nullptr}, {"unit", nullptr}};
    if (run.best) {
      const ObjectiveValue v = objective_value(run.objective, *run.best);
      json["objective"]["value"] = v.value;
      json["objective"]["unit"] = v.unit;
    }
  }
  if (run.objective.about_run()) json["run"] = run_json(run);
  if (run.sizes) json["sizes"] = sizes_json(*run.sizes);
  if (run.undecided()) json["cluster"]["name"] = json["cluster"]["gpus"] = nullptr;
  if (!run.precisions.empty()) json["precisions"] = precisions_json(run.precisions);
  if (!run.pareto) return;
  json["pareto_stopped"] = run.pareto->stopped;
  json["pareto"] = Json::array();
  for (const Estimate& e : run.pareto->plans) {
    json["pareto"].push_back({{"gpus", e.plan.gpus()},
                              {"plan", plan_json(e.plan)},
                              {"step_time_s", e.step.raw()},
                              {"tokens_per_s_per_gpu", e.tokens_per_gpu.raw()},
                              {"total_bytes", e.memory.total().raw()},
                              {"headroom_bytes", e.headroom().raw()},
                              {"best", is_best(run, e)}});
  }
}

std::string pareto_text(const RunAnswer& run) {
  std::string text = "\nplans that no other beats in GPUs, step time and memory left free\n";
  Table table("rrrll");
  table.row({"GPUs", "step", "free", "plan", ""});
  for (const Estimate& e : run.pareto->plans) {
    table.row({count(e.plan.gpus()), format(e.step), format(e.headroom()), canonical(e.plan),
               is_best(run, e) ? "best" : ""});
  }
  if (run.pareto->stopped) return text + table.text() + "  stopped before its end: there may be others\n";
  return text + (run.pareto->plans.empty() ? "  nothing fits\n" : table.text());
}

std::string pareto_csv(const RunAnswer& run) {
  std::string text = "gpus,step_time_s,headroom_bytes,total_bytes,tokens_per_s_per_gpu,best,plan\n";
  for (const Estimate& e : run.pareto->plans) {
    text += fmt::format("{},{},{:.0f},{:.0f},{},{},\"{}\"\n", e.plan.gpus(), e.step.raw(), e.headroom().raw(),
                        e.memory.total().raw(), e.tokens_per_gpu.raw(), is_best(run, e) ? 1 : 0,
                        canonical(e.plan));
  }
  return text;
}

std::string pareto_title(const Question& question) {
  return question.model.name + " on " + question.cluster.device.name + ": plans that no other beats";
}

std::string pareto_file_words(const std::string& path) { return "  written to " + path + "\n"; }

}  // namespace shardplan
