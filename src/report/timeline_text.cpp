#include "report/timeline_text.h"

#include <cmath>

#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string signed_percent(double share) {
  return (share < 0 ? "-" : "+") + format_percent(std::fabs(share));
}

}  // namespace

std::string timeline_title(const Question& question, const Plan& plan) {
  return question.model.name + " on " + std::to_string(question.cluster.gpus) + " x " +
         question.cluster.device.name + ": " + canonical(plan);
}

std::string timeline_sentence(const StepTimeline& line) {
  return "simulated " + format(line.simulated) + ", closed form " + format(line.estimated) + " (" +
         signed_percent(line.difference()) + ")";
}

std::string timeline_text(const StepTimeline& line, const std::string& file) {
  std::string text = "\ntime line, written to " + file + "\n  step " + timeline_sentence(line) + "\n";
  Table table("lrrr");
  table.row({"", "computes", "idles", "chunks in flight"});
  for (int rank = 0; rank < line.plan.pp; ++rank) {
    const RankLine& r = line.pipeline.ranks[static_cast<std::size_t>(rank)];
    table.row({"stage " + std::to_string(rank), format(r.busy),
               format(line.pipeline.bubble(rank)) + " " +
                   format_percent((line.pipeline.bubble(rank) / line.pipeline.span).raw()),
               std::to_string(r.live)});
  }
  return text + table.text();
}

Json timeline_json(const StepTimeline& line, const std::string& file) {
  Json json{{"file", file},
            {"simulated_step_s", line.simulated.raw()},
            {"estimated_step_s", line.estimated.raw()},
            {"difference", line.difference()},
            {"pipeline_s", line.pipeline.span.raw()}};
  json["by_stage"] = Json::array();
  for (int rank = 0; rank < line.plan.pp; ++rank) {
    const RankLine& r = line.pipeline.ranks[static_cast<std::size_t>(rank)];
    json["by_stage"].push_back({{"busy_s", r.busy.raw()},
                                {"bubble_s", line.pipeline.bubble(rank).raw()},
                                {"live_micro_batches", r.live}});
  }
  return json;
}

}  // namespace shardplan
