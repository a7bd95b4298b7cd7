// A step's time line as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing load: the JSON of the
// Trace Event Format, a process for each pipeline stage, a thread for each stream.
//
//   write_trace(line, title, [&](std::string_view part) { return file.write(part); });
//
// Written part by part, so that a large step never stands in memory as text. Not here: opening files (cli/).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "estimate/step_timeline.h"

namespace shardplan {

/// Takes the next part of a text; false when it could not.
using TextSink = std::function<bool(std::string_view)>;

/// How large the file will be, from its number of events and the size of the first of them.
double estimated_trace_bytes(const StepTimeline& line);

bool write_trace(const StepTimeline& line, const std::string& title, const TextSink& sink);

}  // namespace shardplan
