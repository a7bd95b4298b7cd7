#include "cli/plan_argument.h"

#include <cstddef>

#include "cli/standard_input.h"

namespace shardplan::cli {

Result<PlanText> plan_argument(const std::string& typed, const std::string& where) {
  if (typed != "-") return read_plan(typed, where);
  const Result<std::string> text = standard_input(kJsonBytesMax, where);
  if (!text) return text.error();
  return read_plan_document(*text, where);
}

}  // namespace shardplan::cli
