// A step's time line as a picture: one self-contained SVG, a row for each pipeline stage, coloured by the
// kind of work, idle time left open. Readable on light and dark grounds.
//
//   std::string picture = timeline_svg(line, "llama3-70b on 64 x h100-sxm");
//
// Of a long step the beginning and the end are drawn, and the picture says what it leaves out. Collectives
// inside passes and sends are in the trace (report/timeline_trace.h).
#pragma once

#include <string>

#include "estimate/step_timeline.h"

namespace shardplan {

std::string timeline_svg(const StepTimeline& line, const std::string& title);

}  // namespace shardplan
