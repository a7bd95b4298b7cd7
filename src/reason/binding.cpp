#include "reason/binding.h"

#include <algorithm>
#include <array>
#include <utility>

#include "reason/memory_answer.h"
#include "reason/sentence.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// The part of a breakdown that a constraint is about, in words with its size.
std::string memory_words(const MemoryBreakdown<>& m) {
  std::string text = "state " + format(m.state()) + ", activations " + format(m[MemoryTerm::kActivations]);
  const Bytes<> buffers = m[MemoryTerm::kTransient] + m[MemoryTerm::kBuffers];
  if (m[MemoryTerm::kLogits].raw() > 0) text += ", logits " + format(m[MemoryTerm::kLogits]);
  if (buffers.raw() > 0) text += ", working buffers " + format(buffers);
  return text;
}

struct MemoryPart {
  const char* id;
  const char* words;
  const char* verb;
  Bytes<> size;
};

/// In the order in which a limit is broken.
std::array<MemoryPart, 4> memory_parts(const MemoryBreakdown<>& m) {
  return {{{"state", "state", " is ", m.state()},
           {"activations", "activations", " are ", m[MemoryTerm::kActivations]},
           {"logits", "logits", " are ", m[MemoryTerm::kLogits]},
           {"buffers", "working buffers", " are ", m[MemoryTerm::kTransient] + m[MemoryTerm::kBuffers]}}};
}

/// Which part of the memory is the larger: "state is 20.1 GiB, 2.3 times the 8.9 GiB of activations".
void add_memory_sides(const MemoryBreakdown<>& memory, Sentence& s) {
  auto parts = memory_parts(memory);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const MemoryPart& a, const MemoryPart& b) { return a.size > b.size; });
  s << parts[0].words << parts[0].verb << stated(parts[0].id, parts[0].size);
  if (parts[1].size <= bytes(0)) return;
  s << ", " << stated("memory_ratio", parts[0].size / parts[1].size) << " times the ";
  s << stated(parts[1].id, parts[1].size) << " of " << parts[1].words;
}

BindingConstraint binding(std::string kind, const Sentence& s, double value, double limit, const char* unit) {
  return {std::move(kind), s.words(), value, limit, unit, s.figures()};
}

BindingConstraint of_time(const Estimate& best, const Cluster& cluster) {
  const auto groups = time_groups(best, cluster);
  if (groups.empty()) return {"none", "nothing takes time", 0, 0, "s"};
  const TimeGroup& first = groups.front();
  Sentence s(kind_words(first.kind) + " binds: ");
  s << stated("binding", first.exposed) << " of " + first.words + " in a " << stated("step", best.step)
    << " step";
  if (groups.size() > 1) {
    s << ", " << stated("over_next", first.exposed / groups[1].exposed);
    s << " times the " << stated("next", groups[1].exposed) << " of the next, " + groups[1].words;
  }
  s << ". Memory leaves " << stated("headroom", best.headroom()) << " of " << stated("usable", best.usable);
  s << " usable: ";
  add_memory_sides(best.memory, s);
  return binding(first.kind, s, first.exposed.raw(), best.step.raw(), "s");
}

/// What the plan that comes closest keeps, where the state of any is too large.
BindingConstraint of_floor(const Estimator& estimator, const Floor& floor, const SearchResult& result) {
  Sentence s("state binds: under any plan it is at least ");
  s << stated_gibibytes("state_per_gpu", floor.state_per_gpu) << " on each of ";
  s << stated_count("gpus", estimator.question().cluster.gpus, "GPUs") << " GPUs (";
  s << stated_gibibytes("state_total", floor.state) << " in all), ";
  s << stated("over_usable", floor.state_per_gpu / floor.usable) << " times the ";
  s << stated_gibibytes("usable", floor.usable) << " usable; for the state alone the smallest N is ";
  s << stated_count("min_gpus", floor.min_gpus, "GPUs") << " (";
  s << stated_count("min_gpus_whole_nodes", floor.min_gpus_whole_nodes, "GPUs") << " in whole nodes)";
  if (const auto& miss = result.census.nearest_miss) {
    s << ". In the plan that comes closest, " + canonical(miss->plan) + ", ";
    add_memory_sides(miss->memory, s);
    if (miss->memory.state() > miss->memory[MemoryTerm::kActivations])
      s << ": the weights bind, not the sequence";
  }
  return binding("state", s, floor.state_per_gpu.raw(), floor.usable.raw(), "bytes");
}

/// What the parts before the one that breaks the limit leave for it.
void add_room(const NearestMiss& miss, Bytes<> usable, Sentence& s) {
  Bytes<> before{};
  std::string words;
  for (const MemoryPart& part : memory_parts(miss.memory)) {
    if (before + part.size <= usable) {
      words += (words.empty() ? "" : ", ") + std::string(part.words);
      before += part.size;
      continue;
    }
    const Bytes<> left = usable - before;
    if (words.empty()) {
      s << part.words << " alone is " << stated(part.id, part.size) << ", ";
      s << stated("over_usable", part.size / usable)
        << " times what is usable: the weights bind, not the sequence";
      return;
    }
    s << stated("before", before) << " of " + words + " leave " << stated("left", left) << ", ";
    s << part.words << part.verb << stated(part.id, part.size) << ", ";
    s << stated("over_left", part.size / left) << " times that";
    if (miss.constraint == Constraint::kActivations && part.size > miss.memory.state())
      s << ": the sequence binds, not the weights";
    return;
  }
}

BindingConstraint of_nearest_miss(const NearestMiss& miss, Bytes<> usable) {
  const std::string kind = memory_kind(miss.constraint);
  Sentence s(kind + (kind == "state" ? " binds" : " bind") + ": the plan that comes closest, " +
             canonical(miss.plan) + ", needs ");
  s << stated("total", miss.memory.total()) << " on stage "
    << stated_count("stage", std::int64_t{miss.stage});
  s << ", usable is " << stated("usable", usable) << ": " << stated("shortfall", miss.shortfall);
  s << " too much; ";
  add_room(miss, usable, s);
  return binding(kind, s, miss.memory.total().raw(), usable.raw(), "bytes");
}

BindingConstraint of_host(const Estimator& estimator, const HostMiss& least) {
  const Bytes<> has = estimator.question().cluster.host_memory->value;
  Sentence s("state binds: of the plans that fit the GPUs, " + canonical(least.plan) +
             " keeps the least on a host: ");
  s << stated("host_need", least.need) << " for a node, " << stated("over_host", least.need / has);
  s << " times the " << stated("host", has) << " that its host has";
  return binding("state", s, least.need.raw(), has.raw(), "bytes");
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
  if (!floor.feasible) return of_floor(estimator, floor, result);
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
