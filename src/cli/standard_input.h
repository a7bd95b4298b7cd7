// All of standard input as one text.
//
//   const Result<std::string> text = standard_input(kLogBytesMax, "oom");
//
// Not here: what it says.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.h"

namespace shardplan::cli {

/// An error of `where` beyond so many bytes.
Result<std::string> standard_input(std::int64_t bytes_most, const std::string& where);

}  // namespace shardplan::cli
