#include "reason/serve_engine.h"

#include <algorithm>
#include <cmath>

#include "catalog/parameters.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(double n) { return format_count(n); }

std::string two_decimals(double value) {
  constexpr double kHundred = 100;
  std::string text = std::to_string(std::floor(value * kHundred) / kHundred);
  return text.substr(0, text.find('.') + 3);
}

struct Room {
  ServeMemory<> memory;
  ServeRoom<> room;
  bool recurrent = false;
};
Room room_of(const ServeQuestion& q, const ServePlan& plan) {
  const ServeShape shape(q.question.model, plan.split, q.format);
  Room r;
  r.recurrent = shape.state_bytes > 0;
  r.memory = serve_memory<double>(shape, static_cast<double>(q.context()));
  r.room = serve_room<double>(q.question.cluster, q.memory, q.limits, shape, r.memory);
  return r;
}

/// Whether one request of the longest context has room under a question.
bool starts(const ServeQuestion& q, const ServePlan& plan) {
  const Room r = room_of(q, plan);
  return r.room.pool >= r.memory.request;
}

std::vector<std::string> sentences_of(const ServeQuestion& q, const Room& r) {
  const double tokens = r.room.tokens.raw();
  const std::string context = count(static_cast<double>(q.context()));
  if (q.memory.name == "vllm" || q.memory.name == "vllm-tpu") {
    const double at_once = std::max(0.0, (r.room.pool / r.memory.request).raw());
    // Where layers keep recurrent states, vLLM derives its tokens from the requests.
    const double said = r.recurrent ? std::floor(at_once * static_cast<double>(q.context())) : tokens;
    return {"GPU KV cache size: " + count(said) + " tokens",
            "Maximum concurrency for " + context + " tokens per request: " + two_decimals(at_once) + "x"};
  }
  if (q.memory.name == "sglang") return {"max_total_num_tokens=" + std::to_string(std::llround(tokens))};
  if (q.memory.name == "trtllm")
    return {"Allocated " + format(r.room.pool) + " for max tokens in paged KV cache (" +
            std::to_string(std::llround(tokens)) + ")."};
  return {};
}

std::string error_of(const ServeQuestion& q, const Room& r) {
  const bool none = r.room.pool <= bytes(0);
  if (q.memory.name == "sglang")
    return none ? "Not enough memory. Please try to increase --mem-fraction-static."
                : "the longest request does not fit in max_total_num_tokens";
  if (q.memory.name == "trtllm")
    return none ? "CUDA out of memory when the engine is loaded"
                : "the longest request needs more blocks than the paged KV cache has";
  if (none) return "No available memory for the cache blocks.";
  return "To serve at least one request with the model's max seq len (" + std::to_string(q.context()) +
         "), " + format_gibibytes(r.memory.request) +
         " KV cache is needed, which is larger than the available KV cache memory (" +
         format_gibibytes(r.room.pool) + "); the estimated maximum model length is " +
         std::to_string(std::llround(r.room.tokens.raw())) + ".";
}

/// The least share, in hundredths, with which the plan starts; nothing where none that leaves the graphs
/// their memory does.
std::optional<double> share_that_starts(const ServeQuestion& q, const ServePlan& plan) {
  constexpr int kHundred = 100, kMost = 98;
  for (int hundredths = static_cast<int>(std::lround(q.limits.share.value.raw() * kHundred)) + 1;
       hundredths <= kMost; ++hundredths) {
    ServeQuestion other = q;
    other.limits.share.value = ratio(static_cast<double>(hundredths) / kHundred);
    if (starts(other, plan)) return other.limits.share.value.raw();
  }
  return std::nullopt;
}

std::vector<EngineFix> fixes_of(const ServeQuestion& q, const ServePlan& plan, const Room& r) {
  std::vector<EngineFix> fixes;
  const bool vllm = q.memory.name == "vllm";
  if (const auto share = share_that_starts(q, plan)) {
    fixes.push_back({q.memory.share_flag + " " + format_number(*share),
                     format((1 - *share) * r.room.memory) + " are left for captured graphs and drift"});
  }
  if (q.limits.requests.value > ratio(1)) {
    ServeQuestion other = q;
    while (other.limits.requests.value > ratio(1) && !starts(other, plan))
      other.limits.requests.value = ratio(std::floor(other.limits.requests.value.raw() / 2));
    if (starts(other, plan))
      fixes.push_back({std::string(vllm ? "--max-num-seqs " : "--max_batch_size ") +
                           count(other.limits.requests.value.raw()),
                       "no more requests at once"});
  }
  if (r.room.tokens > ratio(0))
    fixes.push_back({std::string(vllm                        ? "--max-model-len "
                                 : q.memory.name == "sglang" ? "--context-length "
                                                             : "--max_seq_len ") +
                         std::to_string(std::llround(r.room.tokens.raw())),
                     "longer requests are refused"});
  constexpr double kByteBits = 8;
  if (q.format.cache_bits > kByteBits) {
    ServeQuestion other = q;
    other.format.cache_bits = kByteBits;
    if (starts(other, plan))
      fixes.push_back(
          {vllm ? "--kv-cache-dtype fp8" : "--kv-cache-dtype fp8_e4m3", "keys and values in 8 bits"});
  }
  return fixes;
}

bool routed(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(),
                     [](const Layer& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
}

}  // namespace

EngineSays engine_says(const ServeQuestion& q, const ServePlan& plan) {
  EngineSays says;
  if (q.memory.rule == PoolRule::kReserve) return says;
  const Room r = room_of(q, plan);
  says.sentences = sentences_of(q, r);
  if (starts(q, plan)) return says;
  says.error = error_of(q, r);
  says.fixes = fixes_of(q, plan, r);
  return says;
}

const char* serving_class(const ServeQuestion& q, bool disaggregated) {
  // From here on a dense model is not called small.
  constexpr double kSmallParameters = 30e9;
  if (disaggregated) return "disaggregated";
  if (routed(q.question.model)) return "mixture";
  return state_parameters(q.question.model) < kSmallParameters ? "small" : "dense";
}

RunProfile serve_profile(const ServeQuestion& q, const ServePlan& plan) {
  RunProfile profile;
  profile.model = q.question.model.name;
  profile.framework = q.time.name;
  profile.device = q.question.cluster.device.name;
  profile.architecture = q.question.cluster.device.architecture;
  profile.precision = name(q.format.products);
  profile.experts = routed(q.question.model);
  profile.parameters = state_parameters(q.question.model);
  profile.gpus = static_cast<double>(plan.split.gpus());
  profile.tokens_per_gpu = static_cast<double>(plan.batch) * (q.input + q.output / 2) / profile.gpus;
  return profile;
}

MeasuredDomain measured_domain(const ServeQuestion& q, const Evidence& evidence) {
  const bool experts = routed(q.question.model);
  const std::string& device = q.question.cluster.device.name;
  const auto runs = std::count_if(evidence.runs.begin(), evidence.runs.end(), [&](const MeasuredRun& run) {
    return run.profile.experts == experts && run.profile.device == device &&
           run.profile.framework == q.time.name;
  });
  const std::string what =
      std::string(experts ? "mixtures" : "dense models") + " on " + device + " with " + q.time.name;
  if (runs == 0) return {0, "outside the measured domain: " + what};
  return {runs, "inside the measured domain: " + counted(static_cast<double>(runs), "run") + " of " + what};
}

}  // namespace shardplan
