#include "import/flag_list.h"

#include <algorithm>

namespace shardplan {
namespace {

template <class Spec, class Flags>
std::optional<Error> fill(const FlagList& told, Flags known, Spec& spec) {
  for (const auto& one : told) {
    const std::string& flag = one.first;
    const auto at = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.flag == flag; });
    if (at == known.end()) return Error{"unknown_flag", "no flag " + flag, flag, "a flag of the command", ""};
    spec.*(at->text) = one.second;
  }
  return std::nullopt;
}

}  // namespace

Result<Question> question_from_flags(Purpose purpose, const FlagList& flags, const Catalog& catalog) {
  QuestionSpec spec;
  spec.purpose = purpose;
  if (auto error = fill(flags, question_flags(), spec)) return *error;
  return build_question(spec, catalog);
}

Result<CommQuestion> comm_question_from_flags(const FlagList& flags, const Catalog& catalog) {
  CommSpec spec;
  if (auto error = fill(flags, comm_flags(), spec)) return *error;
  return build_comm_question(spec, catalog);
}

Result<ServeQuestion> serve_question_from_flags(const FlagList& flags, const Catalog& catalog) {
  ServeSpec spec;
  if (auto error = fill(flags, serve_flags(), spec)) return *error;
  return build_serve_question(spec, catalog);
}

}  // namespace shardplan
