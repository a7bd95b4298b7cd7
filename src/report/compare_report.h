// Two plans beside each other, as text and as JSON: what `shardplan compare` and `shardplan why-not` answer.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reason/why_not.h"
#include "report/json_values.h"

namespace shardplan {

/// `assumed`: of each plan, what was taken for what it leaves out.
std::string compare_text(const Question& question, const Comparison& comparison,
                         const std::vector<std::string>& assumed);
Json compare_json(const Question& question, const Comparison& comparison,
                  const std::vector<std::string>& assumed);

std::string why_not_text(const Question& question, const WhyNot& why);
Json why_not_json(const Question& question, const WhyNot& why);

}  // namespace shardplan
