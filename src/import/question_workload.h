// Flags of the training step: sequence, batch, precision, optimizer, and how activations are counted.
// Private to import/: question.cpp calls these in its order.
//
//   read_workload(flags, Purpose::kPlan, q);   // --seq 8192 --global-batch 4Mtok --precision fp8
//
// Not here: what changes a step besides (question_options.h), the degrees of a plan (question_plan.h).
#pragma once

#include <string>
#include <vector>

#include "import/flag_reader.h"

namespace shardplan {

/// Those of --precision, by recipe.
std::vector<std::string> precision_names();
/// Once the cluster and the told degrees are known: a batch that is not told is one that they divide.
void read_workload(FlagReader& flags, Purpose purpose, Question& q);
/// Why the framework does not train in the question's precision; empty where it does.
std::string beyond_framework(const Question& q);
/// --activations, once all is known that the closed forms may not know.
void read_activation_model(FlagReader& flags, Purpose purpose, Question& q);

}  // namespace shardplan
