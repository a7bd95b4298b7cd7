// What is wrong with an input, as a line and as JSON.
//
//   error_line({"unknown_name", "no GPU named \"h10\"", "--gpu", "a catalog name", "h100-sxm"})
//   // "--gpu: no GPU named "h10"; expected a catalog name; did you mean h100-sxm?"
#pragma once

#include <string>

#include "catalog/result.h"
#include "report/json_values.h"

namespace shardplan {

/// One line, fit for a terminal.
std::string error_line(const Error& error);
Json error_json(const Error& error);

}  // namespace shardplan
