// The command that starts a serving plan on vLLM, SGLang or TensorRT-LLM.
//
//   ServeLaunch l;   l.engine = "vllm";   l.model = "Qwen/Qwen3-32B";   l.tensor = 2;   l.max_context = 8192;
//   launch_command(l)   // "vllm serve Qwen/Qwen3-32B \\\n  --tensor-parallel-size 2 \\\n  --max-model-len
//   8192\n"
//
// An option stands there when the plan decided it or when it differs from the engine's default, in an order
// that does not change. Names are those of the releases in validation/serving_options/, against which the
// tests hold them. Not here: the choice of the plan, and whether it fits; the router before engines that only
// prefill or decode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardplan {

/// What an engine does of a request: all of it, or one half while another engine does the other.
enum class ServeRole { kBoth, kPrefill, kDecode };

struct ServeLaunch {
  std::string engine = "vllm";  // "vllm", "sglang" or "trtllm"
  std::string model;            // a hub id or a path, as the user would type it
  /// GPUs that share one replica's attention, its stages, and the replicas of the attention inside the
  /// engine: tensor * pipeline * data GPUs in all.
  std::int64_t tensor = 1, pipeline = 1, data = 1;
  bool expert_parallel = false;   // experts over all GPUs of a stage; otherwise each expert is cut over them
  std::int64_t max_context = 0;   // tokens of a request; 0: the model's own
  std::int64_t max_requests = 0;  // running at once in the whole engine; 0: the engine's default
  std::optional<double> memory_share;
  std::string weights;  // "" as stored, or "fp8", "int8", "awq", "gptq", "mxfp4", "nvfp4"
  std::string cache;    // "" as the model, or "fp8"
  std::optional<std::int64_t> prompt_tokens;  // most of a step, of one replica of the attention
  std::int64_t gpus_per_node = 8;
  std::int64_t draft_tokens = 0;  // by the model's own layers for it, a step; 0: no speculation
  bool eager = false;             // without captured graphs
  ServeRole role = ServeRole::kBoth;
};

/// Lines for a shell, the last one ended; the first ones are comments where something is left to the reader:
/// what to set on each node, which checkpoint it takes. Of an engine that is not one of the three: nothing.
std::string launch_command(const ServeLaunch& launch);

/// The names of the engine's options that the command uses, "--tensor-parallel-size"; keys of TensorRT-LLM's
/// file as "yaml:kv_cache_config.dtype".
std::vector<std::string> launch_options(const ServeLaunch& launch);

}  // namespace shardplan
