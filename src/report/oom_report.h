// The answer of `shardplan oom`, as text and as JSON, from one value.
#pragma once

#include <string>
#include <vector>

#include "reason/oom_answer.h"
#include "report/json_values.h"

namespace shardplan {

std::string oom_text(const OomAnswer& answer, const std::vector<std::string>& assumed);
Json oom_json(const OomAnswer& answer, const std::vector<std::string>& assumed);

}  // namespace shardplan
