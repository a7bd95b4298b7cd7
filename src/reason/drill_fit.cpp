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

void add_floor_figures(const Floor& floor, DrillSolution& s) {
  s.figures = {row("state of the model", floor.state), row("state on each GPU", floor.state_per_gpu)};
}

void add_unknowns(const Estimator& estimator, Answer& findings) {
  const Cluster& c = estimator.question().cluster;
  findings.unknowns.push_back(
      unknown("fragmentation",
              "how much of the memory the allocator loses between blocks; the reserve holds " +
                  format(c.reserve_share.value * c.device.memory_reported.value) + " for it by assumption",
              format(c.reserve_share.value * c.device.memory_reported.value)));
  findings.unknowns.push_back(
      unknown("logits",
              "the logits of the last stage: this shape is given without a vocabulary, so they are left out",
              "6 bytes for each token and vocabulary entry"));
}

/// The least HBM on which the state alone fits, by bisection of the card's size.
std::optional<double> least_hbm(const Question& question) {
  const auto fits = [&](double hbm) {
    Question q = question;
    q.cluster.device.memory_reported.value = bytes(hbm);
    const Estimator estimator(q);
    return state_floor(estimator).feasible;
  };
  const double now = question.cluster.device.memory_reported.value.raw();
  return bisect(now, 64 * now, fits);
}

DrillSolution solve_impossible(const DrillReader& reader, std::int64_t gpus) {
  const Question q = reader.question(shape("plan", gpus));
  const Estimator estimator(q);
  const Floor floor = state_floor(estimator);
  DrillSolution s;
  s.gpus = gpus;
  const Answer engine = answer(estimator, q.fixed);
  s.findings.result = engine.result;
  s.findings.binding = {"state",
                        "state does not fit: " + format(floor.state_per_gpu) +
                            " on each GPU under full sharding > " + format(floor.usable) +
                            " usable, so no plan exists on " + count(gpus) + " GPUs, whatever the axes",
                        floor.state_per_gpu.raw(), floor.usable.raw(), "bytes"};
  add_floor_figures(floor, s);
  s.findings.failure_modes = {
      {"out_of_memory", "training here anyway: any layout runs out of memory before the first step ends",
       "allocation fails while the optimizer state is made, whatever the layout",
       "peak reserved memory against " + format(floor.usable)}};
  s.findings.thresholds = {
      {"gpus", static_cast<double>(gpus), floor.min_gpus, "GPUs",
       "the state fits; " + format_count(floor.min_gpus_whole_nodes) + " in whole nodes"}};
  if (const auto hbm = least_hbm(q)) {
    s.findings.thresholds.push_back({"hbm", q.cluster.device.memory_reported.value.raw(), *hbm, "bytes",
                                     "the state fits on " + count(gpus) + " GPUs of this size"});
  }
  for (const char* axis : {"tp", "pp", "dp", "cp"}) {
    s.findings.not_used.push_back({axis, "no degree helps: divided over all " + count(gpus) +
                                             " GPUs the state is still " + format(floor.state_per_gpu) +
                                             " on each"});
  }
  add_unknowns(estimator, s.findings);
  s.tables = {floor_table(floor, q, gpus), activation_table(reader)};
  DrillTable searched;
  searched.title = "what the search finds";
  searched.rows = {{"legal plans", static_cast<double>(engine.result.census.considered), "plans", ""},
                   {"of them fit", static_cast<double>(engine.result.census.feasible), "plans", ""}};
  if (engine.result.census.nearest_miss) {
    const NearestMiss& miss = *engine.result.census.nearest_miss;
    searched.rows.push_back(row("nearest miss is too large by", miss.shortfall, canonical(miss.plan)));
  }
  searched.commands = {shape("plan", gpus)};
  s.tables.push_back(searched);
  add_engine_findings(engine, s.findings);
  return s;
}

/// The count of GPUs is enough: what the engine finds, with the state as what is scarce where it takes most
/// of the memory.
DrillSolution solve_possible(const DrillReader& reader, std::int64_t gpus) {
  const DrillCommand command = shape("plan", gpus);
  const Question q = reader.question(command);
  const Estimator estimator(q);
  const Floor floor = state_floor(estimator);
  DrillSolution s = engine_solution(estimator, gpus);
  const Estimate& best = *s.findings.result.best;
  const Bytes<> left = floor.usable - floor.state_per_gpu;
  // Where the state leaves less than one layer-by-layer copy of the activations, it is what the plan is made
  // of.
  const bool state_binds = left < floor.state_per_gpu;
  if (state_binds) {
    s.findings.binding = {"state",
                          "state binds: " + format(floor.state_per_gpu) + " of " + format(floor.usable) +
                              " usable on each GPU even when nothing is kept twice; " + format(left) +
                              " are left for activations",
                          floor.state_per_gpu.raw(), floor.usable.raw(), "bytes"};
  }
  add_floor_figures(floor, s);
  if (!state_binds) add_binding_figure(s);
  s.tables = {floor_table(floor, q, gpus), plan_table("the plan", best, {command})};
  return s;
}

DrillSolution solve_8(const DrillReader& reader) { return solve_impossible(reader, 8); }
DrillSolution solve_16(const DrillReader& reader) { return solve_possible(reader, 16); }
DrillSolution solve_64(const DrillReader& reader) { return solve_possible(reader, 64); }

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
