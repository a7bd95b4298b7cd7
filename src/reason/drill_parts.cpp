#include "reason/drill_parts.h"

#include <algorithm>
#include <cstdio>

#include "reason/binding.h"
#include "reason/term_words.h"
#include "units/format.h"

namespace shardplan {

std::string text(const DrillCommand& command) {
  std::string line = "shardplan " + command.command;
  for (const auto& [flag, value] : command.flags) line += " " + flag + (value.empty() ? "" : " " + value);
  return line;
}

DrillCommand with(DrillCommand command, const std::string& flag, const std::string& value) {
  const auto same = [&](const auto& told) { return told.first == flag; };
  const auto at = std::find_if(command.flags.begin(), command.flags.end(), same);
  if (at != command.flags.end()) {
    at->second = value;
  } else {
    command.flags.emplace_back(flag, value);
  }
  return command;
}

std::string text(const Figure& f) {
  if (f.unit == "bytes") return format(Bytes<>(f.value));
  if (f.unit == "s") return format(Seconds<>(f.value));
  if (f.unit == "bytes/s") return format(BytesPerSecond<>(f.value));
  if (f.unit == "ratio") return format_number(f.value);
  const bool one = f.value == 1 && f.unit.ends_with('s');
  return format_number(f.value) + " " + (one ? f.unit.substr(0, f.unit.size() - 1) : f.unit);
}

namespace drill {

Figure row(std::string label, Bytes<> value, std::string note) {
  return {std::move(label), value.raw(), "bytes", std::move(note)};
}
Figure row(std::string label, Seconds<> value, std::string note) {
  return {std::move(label), value.raw(), "s", std::move(note)};
}
Figure row(std::string label, BytesPerSecond<> value, std::string note) {
  return {std::move(label), value.raw(), "bytes/s", std::move(note)};
}
Figure row(std::string label, TokensPerSecond<> value, std::string note) {
  return {std::move(label), value.raw(), "tokens/s", std::move(note)};
}
Figure row_tokens(std::string label, double value, std::string note) {
  return {std::move(label), value, "tokens", std::move(note)};
}
Figure row_gpus(std::string label, double value, std::string note) {
  return {std::move(label), value, "GPUs", std::move(note)};
}
Figure row_ratio(std::string label, double value, std::string note) {
  return {std::move(label), value, "ratio", std::move(note)};
}

MemoryAnswer memory_of(const Question& question, const Plan& plan) {
  const Estimator estimator(question);
  return memory_answer(estimator, plan, question.fixed, 0);
}

DrillSolution planned(const DrillReader& reader, const DrillCommand& asked) {
  const Question q = reader.question(asked);
  DrillSolution s;
  s.gpus = q.cluster.gpus;
  s.asked = s.binds = asked;
  s.findings = answer(Estimator(q), q.fixed);
  if (s.findings.result.best) s.plan = s.findings.result.best->plan;
  s.given = given_figures(q.cluster);
  s.given.push_back(row_tokens("a sequence", static_cast<double>(q.workload.sequence)));
  s.given.push_back(
      row_tokens("a batch", static_cast<double>(q.workload.sequence * q.workload.global_batch)));
  if (q.workload.critical_batch_tokens > 0)
    s.given.push_back(row_tokens("the critical batch", q.workload.critical_batch_tokens));
  return s;
}

DrillSolution planned(const DrillReader& reader, const DrillCommand& asked, const DrillCommand& binds) {
  DrillSolution s = planned(reader, asked);
  const Question q = reader.question(binds);
  const Estimator estimator(q);
  s.binds = binds;
  s.findings.binding = binding_constraint(estimator, q.fixed, search(estimator, q.fixed));
  return s;
}

std::vector<Figure> given_figures(const Cluster& cluster) {
  std::vector<Figure> given;
  for (const Tier& tier : cluster.tiers) {
    given.push_back(row(tier.name + " bandwidth", tier.bandwidth.value));
    given.push_back(row(tier.name + " latency", tier.latency.value));
  }
  const Device& device = cluster.device;
  given.push_back(row("memory of a GPU", device.memory_reported.value));
  given.push_back(row("bandwidth of it", device.memory_bandwidth.value));
  for (const auto& peak : device.peak) {
    if (peak) given.push_back({"peak of a GPU", peak->value.raw(), "FLOP/s", ""});
  }
  return given;
}

DrillTable plan_table(const std::string& title, const Estimate& e, std::vector<DrillCommand> commands) {
  DrillTable table;
  table.title = title + ": " + canonical(e.plan);
  table.rows.push_back(row("step", e.step));
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    const TimeEntry<>& term = e.time.terms[i];
    if (term.time.raw() <= 0) continue;
    const std::string hidden = term.hidden.raw() > 0 ? format(term.hidden) + " more is hidden" : "";
    table.rows.push_back(row(std::string("  ") + words(static_cast<TimeTerm>(i)), term.exposed(), hidden));
  }
  table.rows.push_back(
      row("memory of the fullest GPU", e.memory.total(), "of " + format(e.usable) + " usable"));
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    if (e.memory.terms[i].raw() <= 0) continue;
    table.rows.push_back(row(std::string("  ") + words(static_cast<MemoryTerm>(i)), e.memory.terms[i]));
  }
  table.commands = std::move(commands);
  return table;
}

std::optional<std::string> wrong_product(const Plan& plan, std::int64_t gpus) {
  // A reader may write any degrees: their product need not fit an integer.
  double product = 1;
  for (const std::int32_t degree : {plan.dp, plan.tp, plan.pp, plan.cp}) product *= degree;
  if (product == static_cast<double>(gpus)) return std::nullopt;
  return "the degrees multiply to " + format_count(product) + ", not to " + count(gpus) + " GPUs";
}

std::optional<std::string> wrong_heads(const Question& question, std::int64_t tensor) {
  for (const Layer& layer : question.model.layers) {
    const auto* a = std::get_if<Attention>(&layer.mixer);
    if (a != nullptr && a->heads % tensor != 0) {
      return "tensor parallelism " + count(tensor) + " does not divide " + count(a->heads) + " heads";
    }
  }
  return std::nullopt;
}

std::optional<std::string> wrong_training_plan(const std::optional<Plan>& told, const Question& question) {
  const Estimator estimator(question);
  if (!told) {
    const SearchResult found = fastest(estimator, FixedAxes{});
    if (!found.best) return std::nullopt;
    return "a plan exists: " + canonical(found.best->plan) + " takes " + format(found.best->memory.total()) +
           " of " + format(found.best->usable);
  }
  Plan plan = *told;
  if (auto product = wrong_product(plan, question.cluster.gpus)) return product;
  const std::int64_t each = std::int64_t{plan.dp} * plan.micro_batch;
  const std::int64_t batch = question.workload.global_batch;
  if (each <= 0 || batch % each != 0) {
    return "dp x micro-batch = " + count(each) + " does not divide the batch of " + count(batch) +
           " sequences";
  }
  plan.grad_accumulation = static_cast<std::int32_t>(batch / each);
  const Outcome outcome = estimator.estimate(plan);
  const auto* violation = std::get_if<Violation>(&outcome);
  if (violation == nullptr) return std::nullopt;
  if (violation->constraint < Constraint::kState) return "not legal: " + violation->where;
  return canonical(plan) + " does not fit: it needs " + format(bytes(violation->required)) + " of " +
         format(bytes(violation->available)) + " usable";
}

std::string format_plain(double whole) { return std::to_string(static_cast<std::int64_t>(whole)); }

std::string billions(double parameters) {
  char digits[48];
  std::snprintf(digits, sizeof digits, "%.12g", parameters / 1e9);
  return digits;
}

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

}  // namespace drill
}  // namespace shardplan
