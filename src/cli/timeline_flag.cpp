#include "cli/timeline_flag.h"

#include "cli/output_file.h"

namespace shardplan::cli {
namespace {

constexpr const char* kFlag = "--timeline";

}  // namespace

std::optional<Error> timeline_format_error(const std::string& path) {
  return format_error(path, kFlag, {".json", ".svg"},
                      "a file that ends in .json (a trace) or .svg (a picture)");
}

std::optional<Error> write_timeline(const StepTimeline& line, const std::string& title,
                                    const std::string& path) {
  OutputFile file(path, kFlag);
  if (extension(path) == ".svg") {
    file.write(timeline_svg(line, title));
  } else {
    write_trace(line, title, [&](std::string_view part) { return file.write(part); });
  }
  return file.finish();
}

}  // namespace shardplan::cli
