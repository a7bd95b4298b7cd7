// What is wrong with a command line that does not parse, as the one line that every other error is.
//
//   usage_error(app, {"comm", "--bwx", "50"}, failure);   // where "comm", nearest "--bw"
//
// Not here: values of flags (the library's errors).
#pragma once

#include <shardplan/shardplan.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace shardplan::cli {

Error usage_error(const CLI::App& app, const std::vector<std::string>& arguments,
                  const CLI::ParseError& failure);

}  // namespace shardplan::cli
