// Drill 1: does a model of 175 B parameters train on 8, 16 or 64 GPUs.
#include <array>

#include "reason/drill_parts.h"
#include "units/format.h"

namespace shardplan {
namespace {

using namespace drill;

DrillCommand shape(const char* command, std::int64_t gpus) {
  return {command,
          {{"--params", "175"},
           {"--layers", "96"},
           {"--hidden", "12288"},
           {"--heads", "96"},
           {"--seq", "2048"},
           {"--gpus", std::to_string(gpus)}}};
}

DrillTable floor_table(const Floor& floor, const Question& q, std::int64_t gpus) {
  DrillTable table;
  table.title = "the floor under every plan on " + count(gpus) + " GPUs";
  table.rows = {row("state of the whole model", floor.state),
                row("state on each GPU, divided over all", floor.state_per_gpu),
                row("memory of a GPU", q.cluster.device.memory_reported.value),
                row("usable of it, after the reserve", floor.usable),
                row_gpus("smallest count that holds the state", floor.min_gpus),
                row_gpus("the same in whole nodes", floor.min_gpus_whole_nodes)};
  table.commands = {shape("memory", gpus)};
  return table;
}

DrillTable activation_table(const DrillReader& reader) {
  DrillTable table;
  table.title = "activations of the whole model, one micro-batch on one GPU, closed forms";
  for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    const DrillCommand command = with(shape("memory", 1), "--recompute", name(recompute));
    const Question q = reader.question(command);
    Plan plan;
    plan.recompute = recompute;
    const MemoryAnswer memory = memory_of(q, plan);
    table.rows.push_back(
        row(std::string("recompute ") + name(recompute), memory.memory.worst()[MemoryTerm::kActivations]));
    table.commands.push_back(command);
  }
  return table;
}

DrillTable search_table(const SearchResult& result, std::int64_t gpus) {
  DrillTable table{"what the search finds", {}, {shape("plan", gpus)}};
  const Census& census = result.census;
  table.rows = {{"legal plans", static_cast<double>(census.considered), "plans", ""},
                {"of them fit", static_cast<double>(census.feasible), "plans", ""}};
  if (census.nearest_miss) {
    const NearestMiss& miss = *census.nearest_miss;
    table.rows.push_back(row("nearest miss is too large by", miss.shortfall, canonical(miss.plan)));
  }
  return table;
}

/// `bound`: the GPUs of which what binds is asked.
DrillSolution solve(const DrillReader& reader, std::int64_t gpus, std::int64_t bound) {
  const DrillCommand command = shape("plan", gpus);
  const Question q = reader.question(command);
  DrillSolution s = planned(reader, command, shape("plan", bound));
  s.tables = {floor_table(state_floor(Estimator(q)), q, gpus)};
  const SearchResult& result = s.findings.result;
  if (result.best) {
    s.tables.push_back(plan_table("the plan", *result.best, {command}));
  } else {
    s.tables.push_back(activation_table(reader));
    s.tables.push_back(search_table(result, gpus));
  }
  return s;
}

DrillSolution solve_8(const DrillReader& reader) { return solve(reader, 8, 8); }
/// One node less is what makes 16 GPUs necessary.
DrillSolution solve_16(const DrillReader& reader) { return solve(reader, 16, 8); }
DrillSolution solve_64(const DrillReader& reader) { return solve(reader, 64, 64); }

template <std::int64_t Gpus>
std::optional<std::string> wrong(const std::optional<Plan>& plan, const DrillReader& reader) {
  return wrong_training_plan(plan, reader.question(shape("plan", Gpus)));
}

constexpr std::array kScenarios{
    DrillScenario{
        "8", "one node",
        "A model of 175 B parameters (96 layers, hidden 12288, 96 heads, sequence 2048) on 8 GPUs of 192 GiB, "
        "bf16 and AdamW at 16 bytes a parameter. Does any plan fit? If none does, show it with one inequality "
        "and name the smallest count of GPUs that could hold it.",
        solve_8, wrong<8>},
    DrillScenario{
        "16", "two nodes",
        "The same model on 16 GPUs, two nodes of 8. How little is left after the state, and which plan lives "
        "with that?",
        solve_16, wrong<16>},
    DrillScenario{"64", "eight nodes", "The same model on 64 GPUs. What is scarce now that the state fits?",
                  solve_64, wrong<64>}};

}  // namespace

std::span<const DrillScenario> fit_scenarios() { return kScenarios; }

}  // namespace shardplan
