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
/// A list that is told in several parts is their list. The spec must live as long here too, and below.
void add_plan_flag(CLI::App& command, const PlanFlag& flag, PlanSpec& spec);
void add_whole_space_flag(CLI::App& command, PlanSpec& spec);
/// All that says what is searched, for the commands that search beside plan.
void add_search_flags(CLI::App& command, PlanSpec& spec);

}  // namespace shardplan::cli
