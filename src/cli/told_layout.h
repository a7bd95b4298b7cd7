// One layout as it was told, for the commands that judge a run instead of searching for one.
//
//   const Result<ToldLayout> told = told_layout(spec);   // purpose set by the command
//
// Not here: what is said about it.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace shardplan::cli {

struct ToldLayout {
  Question question;
  Plan plan;
  std::vector<std::string> assumed;  // of the layout and of its question, then the remarks
};

/// The question, the layout with what was taken for the axes that were not told; or what is wrong with them.
Result<ToldLayout> told_layout(const QuestionSpec& spec);

}  // namespace shardplan::cli
