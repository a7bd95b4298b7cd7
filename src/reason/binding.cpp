#include "reason/binding.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "reason/memory_answer.h"
#include "reason/sentence.h"
#include "reason/time_groups.h"
#include "units/format.h"

namespace shardplan {
namespace {

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

/// "state 20.1 GiB, activations 8.9 GiB", and what else there is.
Sentence memory_said(const MemoryBreakdown<>& m) {
  Sentence s;
  for (const MemoryPart& part : memory_parts(m)) {
    const bool always = part.id == std::string_view("state") || part.id == std::string_view("activations");
    if (!always && part.size <= bytes(0)) continue;
    s << (s.empty() ? "" : ", ") << part.words << " " << stated(part.id, part.size);
  }
  return s;
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
  s << stated_gibibytes("state_per_gpu", floor.state_per_gpu);
  if (const std::int64_t gpus = estimator.question().cluster.gpus; gpus == 1) {
    s << " on the one GPU, ";
  } else {
    s << " on each of " << stated_counted("gpus", gpus, "GPU", "s", "GPUs") << " (";
    s << stated_gibibytes("state_total", floor.state) << " in all), ";
  }
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

/// What comes after the part that breaks the limit first may be larger than it.
void add_larger(const MemoryPart& part, std::span<const MemoryPart> after, Sentence& s) {
  const auto most = std::max_element(
      after.begin(), after.end(), [](const MemoryPart& a, const MemoryPart& b) { return a.size < b.size; });
  if (most != after.end() && most->size > part.size)
    s << "; " << most->words << most->verb << "larger, " << stated(most->id, most->size);
}

/// What the parts before the one that breaks the limit leave for it.
void add_room(const NearestMiss& miss, Bytes<> usable, Sentence& s) {
  Bytes<> before{};
  std::string words;
  const auto parts = memory_parts(miss.memory);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const MemoryPart& part = parts[i];
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
    add_larger(part, std::span(parts).subspan(i + 1), s);
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
  Sentence s(kind + (kind == "state" ? " binds: " : " bind: ") + canonical(plan) + " needs ");
  s << stated("total", memory.total()) << " (" << memory_said(memory) << "), usable is "
    << stated("usable", usable);
  return binding(kind, s, memory.total().raw(), usable.raw(), "bytes");
}

}  // namespace shardplan
