// --timeline FILE: the step of a plan written as a trace (.json) or as a picture (.svg).
//
//   if (const auto error = timeline_file_error(path)) return output.error(*error);   // before the search
//   if (const auto error = write_timeline(line, title, path)) return output.error(*error);
//
// Not here: what is in the files (report/timeline_trace.h, report/timeline_svg.h).
#pragma once

#include <shardplan/shardplan.h>

#include <optional>
#include <string>

namespace shardplan::cli {

/// What is wrong with the name, if anything: it says the format.
std::optional<Error> timeline_file_error(const std::string& path);
std::optional<Error> write_timeline(const StepTimeline& line, const std::string& title,
                                    const std::string& path);

}  // namespace shardplan::cli
