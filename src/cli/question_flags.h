// The flags of the question that plan, memory and other commands share, bound to the texts of a QuestionSpec.
//
//   auto spec = std::make_shared<QuestionSpec>();   add_question_flags(*command, *spec);
//
// Not here: what the texts mean (import/question.h).
#pragma once

#include <shardplan/shardplan.h>

#include <CLI/CLI.hpp>

namespace shardplan::cli {

/// The spec must live as long as the command.
void add_question_flags(CLI::App& command, QuestionSpec& spec);

}  // namespace shardplan::cli
