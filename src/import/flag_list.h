// Questions from a list of flags and texts, as a command line has them.
//
//   FlagList flags{{"--preset", "llama3-8b"}, {"--gpus", "64"}};
//   Result<Question> q = question_from_flags(Purpose::kPlan, flags, catalog());
//
// For commands that the program itself holds (the drills) and for tests. Not here: what a flag means
// (question.h, comm_question.h, serve_question.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "import/comm_question.h"
#include "import/question.h"
#include "import/serve_question.h"

namespace shardplan {

using FlagList = std::vector<std::pair<std::string, std::string>>;

Result<Question> question_from_flags(Purpose purpose, const FlagList& flags, const Catalog& catalog);
Result<CommQuestion> comm_question_from_flags(const FlagList& flags, const Catalog& catalog);
Result<ServeQuestion> serve_question_from_flags(const FlagList& flags, const Catalog& catalog);

}  // namespace shardplan
