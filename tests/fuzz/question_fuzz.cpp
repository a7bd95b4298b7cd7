// Feeds import/question.h, import/plan_question.h and import/serve_question.h: each line is a flag and its
// text; the answer is a question and its layout, one about several sizes or about serving, or an error. Flags
// that name files are left out: what stands in a file is fuzzed on its own.
#include <string>
#include <string_view>
#include <utility>

#include "fuzz_one.h"
#include "import/plan_question.h"
#include "import/serve_question.h"

namespace {

/// Flags of either command: serve_flags() are the shared ones it reads and its own.
void take_line(std::string_view line, shardplan::ServeSpec& spec) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return;
  for (const shardplan::QuestionFlag& f : shardplan::question_flags()) {
    const bool may_be_file =
        f.text == &shardplan::QuestionSpec::model || f.text == &shardplan::QuestionSpec::cluster;
    if (!may_be_file && line.substr(0, space) == f.flag) spec.*f.text = std::string(line.substr(space + 1));
  }
  for (const auto& [flag, text] :
       {std::pair{"--batch", &shardplan::ServeSpec::batch}, {"--tpot-ms", &shardplan::ServeSpec::tpot_ms}}) {
    if (line.substr(0, space) == flag) spec.*text = std::string(line.substr(space + 1));
  }
}

void take_plan_line(std::string_view line, shardplan::PlanSpec& spec) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return;
  const std::string_view flag = line.substr(0, space);
  const std::string text(line.substr(space + 1));
  for (const shardplan::PlanFlag& f : shardplan::plan_flags()) {
    if (flag == f.flag) f.text(spec) = text;
  }
}

}  // namespace

int fuzz_one(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  shardplan::ServeSpec spec;
  shardplan::PlanSpec plan;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    take_line(text.substr(0, end), spec);
    take_plan_line(text.substr(0, end), plan);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  for (const auto purpose :
       {shardplan::Purpose::kPlan, shardplan::Purpose::kMemory, shardplan::Purpose::kRun}) {
    spec.purpose = purpose;
    const auto question = shardplan::build_question(spec, shardplan::catalog());
    if (question) static_cast<void>(static_cast<bool>(shardplan::default_memory_plan(*question)));
  }
  plan.question = spec;
  plan.question.purpose = shardplan::Purpose::kPlan;
  static_cast<void>(static_cast<bool>(shardplan::build_plan_question(plan, shardplan::catalog())));
  spec.purpose = shardplan::Purpose::kServe;
  static_cast<void>(static_cast<bool>(shardplan::build_serve_question(spec, shardplan::catalog())));
  return 0;
}
