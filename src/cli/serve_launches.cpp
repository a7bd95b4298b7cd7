#include "cli/serve_launches.h"

#include <algorithm>
#include <cmath>

namespace shardplan::cli {
namespace {

/// The first hub id of a catalog's model; else what was typed.
std::string hub_id(const std::string& model) {
  const auto entry = find_model(catalog(), model, "");
  if (!entry) return model;
  const auto& aliases = (*entry)->aliases;
  const auto id = std::find_if(aliases.begin(), aliases.end(),
                               [](const std::string& a) { return a.find('/') != std::string::npos; });
  return id == aliases.end() ? model : *id;
}

bool is_told(const Source& source) { return source.kind == SourceKind::kUser; }

/// Formats that a flag of the engine names; bf16 and what is stored need none.
std::string told_weights(const ServeFormat& format) {
  for (const char* name : {"fp8", "int8", "awq", "gptq", "mxfp4", "nvfp4"})
    if (format.name == name) return name;
  return "";
}

ServeLaunch launch_of(const ServeAnswer& a, const std::string& model, const ServeSplit& split) {
  const ServeQuestion& q = a.question;
  constexpr double kByteBits = 8;
  ServeLaunch launch;
  launch.engine = q.memory.name;
  launch.model = hub_id(model);
  launch.tensor = split.tensor;
  launch.pipeline = split.pipeline;
  launch.data = split.data;
  launch.max_context = q.context();
  if (is_told(q.limits.share.source)) launch.memory_share = q.limits.share.value.raw();
  if (is_told(q.limits.prompt_tokens.source))
    launch.prompt_tokens = std::llround(q.limits.prompt_tokens.value.raw());
  launch.weights = told_weights(q.format);
  if (q.format.cache_bits == kByteBits) launch.cache = "fp8";
  launch.gpus_per_node = q.question.cluster.tiers.front().size;
  launch.draft_tokens = q.drafts.tokens;
  launch.eager = !q.graphs;
  return launch;
}

const char* role_words(ServeRole role) {
  switch (role) {
    case ServeRole::kPrefill:
      return " that compute prompts";
    case ServeRole::kDecode:
      return " that decode";
    case ServeRole::kBoth:
      break;
  }
  return "";
}

std::int64_t replicas_of(const ServeAnswer& a, const ServeLaunch& launch) {
  return launch.role == ServeRole::kPrefill ? a.shown().prefill->replicas : a.shown().replicas;
}

}  // namespace

std::vector<ServeLaunch> serve_launches(const ServeAnswer& a, const std::string& model) {
  const ServePlan& p = a.shown();
  ServeLaunch decode = launch_of(a, model, p.split);
  decode.max_requests = p.batch;
  decode.expert_parallel = p.plan.ep > 1;
  if (!p.prefill) return {decode};
  decode.role = ServeRole::kDecode;
  ServeLaunch prefill = launch_of(a, model, p.prefill->split);
  prefill.role = ServeRole::kPrefill;
  prefill.expert_parallel = p.prefill->split.data > 1;
  prefill.draft_tokens = 0;
  return {prefill, decode};
}

std::string launches_text(const ServeAnswer& a, const std::vector<ServeLaunch>& launches) {
  std::string text;
  for (const ServeLaunch& launch : launches) {
    const std::int64_t replicas = replicas_of(a, launch);
    text += "\nlaunch command of " +
            (replicas == 1 ? "the replica" : "each of " + std::to_string(replicas) + " replicas") +
            role_words(launch.role) + "\n" + launch_command(launch);
  }
  return text;
}

Json launches_json(const ServeAnswer& a, const std::vector<ServeLaunch>& launches) {
  Json list = Json::array();
  for (const ServeLaunch& launch : launches) {
    const char* role = launch.role == ServeRole::kBoth
                           ? "both"
                           : (launch.role == ServeRole::kPrefill ? "prefill" : "decode");
    list.push_back({{"engine", launch.engine},
                    {"role", role},
                    {"replicas", replicas_of(a, launch)},
                    {"command", launch_command(launch)},
                    {"options", launch_options(launch)}});
  }
  return list;
}

}  // namespace shardplan::cli
