// The run, the sizes and the precisions of an answer of `shardplan plan`: what they are above the plan, and
// the plans that no other beats below it. As text, JSON, CSV and SVG.
//
//   run_text(run)      // "cost: $1,265,123 on 512 GPUs, the best of 16,384 sizes ...\n\nrun  ..."
//   pareto_csv(run)    // "gpus,step_time_s,headroom_bytes,...\n"
//
// Not here: the plan (plan_report.h).
#pragma once

#include <string>
#include <vector>

#include "reason/run_answer.h"
#include "report/json_values.h"

namespace shardplan {

/// "cost: $1,265,123 on 512 GPUs, the best of ..."; empty where nothing was asked but a plan.
std::string run_headline(const RunAnswer& run);
/// What is said of the run below the headline: "run", "cost", "energy", "sizes", as far as asked for.
struct RunFact {
  const char* what;
  std::string words;
};
std::vector<RunFact> run_facts(const RunAnswer& run);
/// Both; empty where nothing was asked but a plan.
std::string run_text(const RunAnswer& run);
/// Adds "objective", "run", "sizes", "precisions", "pareto": each where it was asked for.
void add_run(const RunAnswer& run, Json& json);

/// Of an answer with a front.
std::string pareto_text(const RunAnswer& run);
std::string pareto_csv(const RunAnswer& run);
std::string pareto_svg(const RunAnswer& run, const std::string& title);
std::string pareto_title(const Question& question);
/// "  written to FILE".
std::string pareto_file_words(const std::string& path);

}  // namespace shardplan
