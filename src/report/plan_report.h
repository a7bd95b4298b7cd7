// The answer of `shardplan plan`, as text and as JSON, from one value.
#pragma once

#include <string>
#include <vector>

#include "reason/answer.h"
#include "report/json_values.h"

namespace shardplan {

/// How long the search took, measured by the adapter (the library reads no clock).
struct SearchTime {
  double seconds = 0;
};

std::string plan_text(const Question& question, const Answer& answer, const SearchTime& time);
Json plan_answer_json(const Question& question, const Answer& answer, const SearchTime& time);

}  // namespace shardplan
