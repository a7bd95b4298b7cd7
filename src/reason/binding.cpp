#include "reason/binding.h"

#include "reason/memory_answer.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(double n) { return format_count(n); }

/// The part of a breakdown that a constraint is about, in words with its size.
std::string memory_words(const MemoryBreakdown<>& m) {
  std::string text = "state " + format(m.state()) + ", activations " + format(m[MemoryTerm::kActivations]);
  const Bytes<> buffers = m[MemoryTerm::kTransient] + m[MemoryTerm::kBuffers];
  if (m[MemoryTerm::kLogits].raw() > 0) text += ", logits " + format(m[MemoryTerm::kLogits]);
  if (buffers.raw() > 0) text += ", working buffers " + format(buffers);
  return text;
}

BindingConstraint of_time(const Estimate& best, const Cluster& cluster) {
  const auto groups = time_groups(best, cluster);
  if (groups.empty()) return {"none", "nothing takes time", 0, 0, "s"};
  const TimeGroup& first = groups.front();
  std::string text = kind_words(first.kind) + " binds: " + format(first.exposed) + " of " + first.words +
                     " in a " + format(best.step) + " step";
  if (groups.size() > 1) {
    text += "; the next term, " + groups[1].words + ", is " + format(groups[1].exposed);
  }
  text += ". Memory leaves " + format(best.headroom()) + " of " + format(best.usable) + " usable";
  return {first.kind, text, first.exposed.raw(), best.step.raw(), "s"};
}

BindingConstraint of_floor(const Estimator& estimator, const Floor& floor) {
  const double gpus = static_cast<double>(estimator.question().cluster.gpus);
  return {"state",
          "state binds: under any plan it is at least " + format_gibibytes(floor.state_per_gpu) +
              " on each of " + count(gpus) + " GPUs (" + format_gibibytes(floor.state) +
              " in all), usable is " + format_gibibytes(floor.usable) +
              "; for the state alone the smallest N is " + count(floor.min_gpus) + " (" +
              count(floor.min_gpus_whole_nodes) + " in whole nodes)",
          floor.state_per_gpu.raw(), floor.usable.raw(), "bytes"};
}

BindingConstraint of_nearest_miss(const NearestMiss& miss, Bytes<> usable) {
  const std::string kind = memory_kind(miss.constraint);
  return {kind,
          kind + " bind: the plan that comes closest, " + canonical(miss.plan) + ", needs " +
              format(miss.memory.total()) + " (" + memory_words(miss.memory) + ") on stage " +
              std::to_string(miss.stage) + ", usable is " + format(usable) + ": " + format(miss.shortfall) +
              " too much",
          miss.memory.total().raw(), usable.raw(), "bytes"};
}

BindingConstraint of_host(const Estimator& estimator, const HostMiss& least) {
  const Bytes<> has = estimator.question().cluster.host_memory->value;
  return {"state",
          "state binds: of the plans that fit the GPUs, " + canonical(least.plan) +
              " keeps the least on a host: " + format(least.need) + " for a node, whose host has " +
              format(has),
          least.need.raw(), has.raw(), "bytes"};
}

}  // namespace

const char* memory_kind(Constraint constraint) {
  switch (constraint) {
    case Constraint::kState:
      return "state";
    case Constraint::kLogits:
      return "logits";
    default:
      return "activations";
  }
}

BindingConstraint binding_constraint(const Estimator& estimator, const FixedAxes& fixed,
                                     const SearchResult& result) {
  if (result.best) return of_time(*result.best, estimator.question().cluster);
  const Floor floor = state_floor(estimator);
  if (!floor.feasible) return of_floor(estimator, floor);
  if (result.stopped) return {"none", "the search was stopped before it had found a plan", 0, 0, ""};
  if (result.census.nearest_host) return of_host(estimator, *result.census.nearest_host);
  if (result.census.nearest_miss) {
    return of_nearest_miss(*result.census.nearest_miss, estimator.usable<double>());
  }
  const auto illegal = why_illegal(estimator.question(), fixed);
  return {"none", "no plan is legal" + (illegal ? ": " + illegal->where : ""), 0, 0, ""};
}

std::optional<BindingConstraint> memory_constraint(const Estimator& estimator, const Plan& plan) {
  int stage = 0;
  const MemoryBreakdown<> memory = estimator.fullest_memory<double>(plan, stage);
  const auto broken = estimator.broken_memory(memory);
  if (!broken) return std::nullopt;
  const std::string kind = memory_kind(*broken);
  const Bytes<> usable = estimator.usable<double>();
  return BindingConstraint{kind,
                           kind + (kind == "state" ? " binds: " : " bind: ") + canonical(plan) + " needs " +
                               format(memory.total()) + " (" + memory_words(memory) + "), usable is " +
                               format(usable),
                           memory.total().raw(), usable.raw(), "bytes"};
}

}  // namespace shardplan
