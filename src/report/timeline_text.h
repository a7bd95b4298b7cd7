// What is said of a step's time line: the simulated step beside the closed forms' one.
//
//   timeline_sentence(line)   // "simulated 1.234 s, closed form 1.221 s (-1.1 %)"
//
// Not here: the line itself (report/timeline_trace.h, report/timeline_svg.h).
#pragma once

#include <string>

#include "estimate/step_timeline.h"
#include "report/json_values.h"

namespace shardplan {

/// "llama3-70b on 64 x h100-sxm: dp2·tp8·pp4"
std::string timeline_title(const Question& question, const Plan& plan);
std::string timeline_sentence(const StepTimeline& line);
/// Lines for the answer: the sentence, where it was written, how long each stage idles.
std::string timeline_text(const StepTimeline& line, const std::string& file);
Json timeline_json(const StepTimeline& line, const std::string& file);

}  // namespace shardplan
