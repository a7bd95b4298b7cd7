#include "cli/timeline_flag.h"

#include "cli/output_file.h"

namespace shardplan::cli {
namespace {

constexpr const char* kFlag = "--timeline";

std::string extension(const std::string& path) {
  const std::size_t dot = path.rfind('.'), slash = path.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return "";
  return path.substr(dot);
}

}  // namespace

std::optional<Error> timeline_format_error(const std::string& path) {
  const std::string format = extension(path);
  if (format == ".json" || format == ".svg") return std::nullopt;
  return Error{"unknown_format", "\"" + path + "\" names no format of a time line", kFlag,
               "a file that ends in .json (a trace) or .svg (a picture)",
               nearest_name(format, {".json", ".svg"})};
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
