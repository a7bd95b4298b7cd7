#include "report/error_report.h"

#include "units/format.h"

namespace shardplan {

std::string error_line(const Error& error) {
  std::string line;
  if (!error.where.empty()) line += error.where + ": ";
  line += error.message;
  if (!error.expected.empty()) line += "; expected " + error.expected;
  if (!error.nearest.empty()) line += "; did you mean " + error.nearest + "?";
  return printable(line);
}

Json error_json(const Error& error) {
  return {{"code", error.code},
          {"message", error.message},
          {"where", error.where},
          {"expected", error.expected},
          {"nearest", error.nearest}};
}

}  // namespace shardplan
