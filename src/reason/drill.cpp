#include "reason/drill.h"

#include <array>

namespace shardplan {

std::span<const Drill> drills() {
  static const std::array<Drill, 3> kDrills{{
      {1, "fit the model",
       "Find out in one line of arithmetic whether a model can be trained on a number of GPUs at all.",
       fit_scenarios()},
      {2, "choose the parallelism",
       "Four jobs on the same 64 GPUs (8 nodes of 8, 192 GiB each, 400 TFLOP/s bf16 reached, 300 GB/s and 5 us "
       "inside a node, 50 GB/s and 15 us between nodes). Each is short of something else.",
       parallelism_scenarios()},
      {3, "communication budget",
       "Whether a collective costs anything depends on what runs beside it, and on whether its time is bytes or "
       "steps.",
       communication_scenarios()},
  }};
  return kDrills;
}

const Drill* find_drill(int number) {
  for (const Drill& drill : drills()) {
    if (drill.number == number) return &drill;
  }
  return nullptr;
}

DrillSolution solve_scenario(const DrillScenario& scenario, const DrillReader& reader) {
  DrillSolution solution = scenario.solve(reader);
  solution.id = scenario.id;
  solution.question = scenario.question;
  return solution;
}

std::vector<DrillSolution> solve_drill(const Drill& drill, const DrillReader& reader) {
  std::vector<DrillSolution> solutions;
  for (const DrillScenario& scenario : drill.scenarios) solutions.push_back(solve_scenario(scenario, reader));
  return solutions;
}

}  // namespace shardplan
