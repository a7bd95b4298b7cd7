#include "cli/timeline_flag.h"

#include <cstdio>

#include "cli/output_file.h"

namespace shardplan::cli {
namespace {

constexpr const char* kFlag = "--timeline";
/// Browsers take long over a trace that is larger, or give up.
constexpr double kLargeTrace = 100e6;

void warn_of_large(const StepTimeline& line, const std::string& path) {
  const double size = estimated_trace_bytes(line);
  if (size <= kLargeTrace) return;
  const std::string text = "shardplan: warning: " + path + " will have about " + format(bytes(size)) +
                           " (fewer micro-batches or chunks make it smaller)\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace

std::optional<Error> timeline_file_error(const std::string& path) {
  return file_error(path, kFlag, {".json", ".svg"},
                    "a file that ends in .json (a trace) or .svg (a picture)");
}

std::optional<Error> write_timeline(const StepTimeline& line, const std::string& title,
                                    const std::string& path) {
  OutputFile file(path, kFlag);
  if (extension(path) == ".svg") {
    file.write(timeline_svg(line, title));
  } else {
    warn_of_large(line, path);
    write_trace(line, title, [&](std::string_view part) { return file.write(part); });
  }
  return file.finish();
}

}  // namespace shardplan::cli
