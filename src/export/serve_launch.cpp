#include "export/serve_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace shardplan {
namespace {

struct Option {
  std::string name;
  std::string value;  // as the shell reads it; "" for a switch
};

struct Key {
  std::string section;  // "" for a key of the top
  std::string name;
  std::string value;
};

/// A command before it is text.
struct Parts {
  std::vector<std::string> notes;
  std::vector<Key> file;  // TensorRT-LLM's; a section's keys are next to each other
  std::string program;
  std::vector<Option> options;

  void add(std::string name, std::string value = "") {
    options.push_back({std::move(name), std::move(value)});
  }
  void add_above(std::int64_t least, std::string name, std::int64_t value) {
    if (value > least) add(std::move(name), std::to_string(value));
  }
};

/// One word for the shell, whatever the user called the model.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+=,-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

/// Rounded up, so that together they hold at least the whole.
std::int64_t of_each(std::int64_t total, std::int64_t groups) { return (total + groups - 1) / groups; }

/// GPUs of a pipeline stage: what SGLang and TensorRT-LLM call the tensor parallel size.
std::int64_t stage_gpus(const ServeLaunch& l) { return l.tensor * l.data; }

std::int64_t gpus(const ServeLaunch& l) { return std::max<std::int64_t>(stage_gpus(l) * l.pipeline, 1); }

/// All three engines put the same number of GPUs on each node.
std::int64_t nodes(const ServeLaunch& l) {
  std::int64_t count = of_each(gpus(l), std::max<std::int64_t>(l.gpus_per_node, 1));
  while (gpus(l) % count != 0) ++count;
  return count;
}

struct WeightFormat {
  std::string_view name, vllm, sglang;
  bool vllm_stored,
      sglang_stored;  // the engine reads such a checkpoint; otherwise it converts while it loads
};
constexpr std::array kWeightFormats{
    WeightFormat{"fp8", "fp8", "fp8", false, false},
    WeightFormat{"int8", "int8_per_channel_weight_only", "w8a8_int8", false, true},
    WeightFormat{"awq", "awq", "awq", true, true},
    WeightFormat{"gptq", "gptq", "gptq", true, true},
    WeightFormat{"mxfp4", "mxfp4", "mxfp4", true, true},
    WeightFormat{"nvfp4", "modelopt_fp4", "modelopt_fp4", true, true},
};

void add_weights(const ServeLaunch& l, Parts& parts) {
  const auto format = std::find_if(kWeightFormats.begin(), kWeightFormats.end(),
                                   [&](const WeightFormat& f) { return f.name == l.weights; });
  if (format == kWeightFormats.end()) return;
  const bool vllm = l.engine == "vllm";
  if (vllm ? format->vllm_stored : format->sglang_stored)
    parts.notes.push_back(
        fmt::format("The model has to be a checkpoint whose weights are stored in {}.", l.weights));
  parts.add("--quantization", std::string(vllm ? format->vllm : format->sglang));
}

void add_notes(const ServeLaunch& l, Parts& parts) {
  if (l.draft_tokens > 0)
    parts.notes.emplace_back("The draft tokens come from the model's own layers for multi-token prediction.");
  if (l.role != ServeRole::kBoth) {
    const bool prefill = l.role == ServeRole::kPrefill;
    parts.notes.push_back(
        fmt::format("This engine only {}s: a router sends each request through it and one that {}s.",
                    prefill ? "prefill" : "decode", prefill ? "decode" : "prefill"));
  }
}

void note_nodes(const ServeLaunch& l, Parts& parts) {
  parts.notes.push_back(fmt::format(
      "On each of the {} nodes: NODE_RANK is 0 on the first, 1 on the next; HEAD_ADDR is the address "
      "of the first.",
      nodes(l)));
}

Parts vllm_parts(const ServeLaunch& l) {
  Parts parts;
  add_notes(l, parts);
  parts.program = "vllm serve " + shell_word(l.model);
  parts.add_above(1, "--tensor-parallel-size", l.tensor);
  parts.add_above(1, "--pipeline-parallel-size", l.pipeline);
  parts.add_above(1, "--data-parallel-size", l.data);
  if (l.expert_parallel && stage_gpus(l) > 1) parts.add("--enable-expert-parallel");
  parts.add_above(0, "--max-model-len", l.max_context);
  parts.add_above(0, "--max-num-seqs", of_each(l.max_requests, l.data));
  if (l.prompt_tokens) parts.add("--max-num-batched-tokens", std::to_string(*l.prompt_tokens));
  if (l.memory_share) parts.add("--gpu-memory-utilization", fmt::format("{:g}", *l.memory_share));
  add_weights(l, parts);
  if (!l.cache.empty()) parts.add("--kv-cache-dtype", l.cache);
  if (l.draft_tokens > 0) {
    parts.add("--speculative-config",
              fmt::format(R"('{{"method": "mtp", "num_speculative_tokens": {}}}')", l.draft_tokens));
  }
  if (l.eager) parts.add("--enforce-eager");
  if (l.role != ServeRole::kBoth) {
    parts.add("--kv-transfer-config",
              fmt::format(R"('{{"kv_connector": "NixlConnector", "kv_role": "{}"}}')",
                          l.role == ServeRole::kPrefill ? "kv_producer" : "kv_consumer"));
  }
  if (nodes(l) > 1) {
    note_nodes(l, parts);
    parts.notes.emplace_back("On all nodes but the first, add --headless: only the first answers requests.");
    parts.add("--nnodes", std::to_string(nodes(l)));
    parts.add("--node-rank", "\"$NODE_RANK\"");
    parts.add("--master-addr", "\"$HEAD_ADDR\"");
  }
  return parts;
}

Parts sglang_parts(const ServeLaunch& l) {
  constexpr int kRendezvousPort = 20000;  // any that is free: the engine has no default of its own
  Parts parts;
  add_notes(l, parts);
  parts.program = "python3 -m sglang.launch_server";
  parts.add("--model-path", shell_word(l.model));
  parts.add_above(1, "--tp-size", stage_gpus(l));
  parts.add_above(1, "--pp-size", l.pipeline);
  parts.add_above(1, "--attn-dp-size", l.data);
  if (l.expert_parallel) parts.add_above(1, "--ep-size", stage_gpus(l));
  parts.add_above(0, "--context-length", l.max_context);
  // Told for the engine: it divides both among the replicas of the attention.
  parts.add_above(0, "--max-running-requests", l.max_requests);
  if (l.prompt_tokens) parts.add("--chunked-prefill-size", std::to_string(*l.prompt_tokens * l.data));
  if (l.memory_share) parts.add("--mem-fraction-static", fmt::format("{:g}", *l.memory_share));
  add_weights(l, parts);
  if (!l.cache.empty()) parts.add("--kv-cache-dtype", l.cache == "fp8" ? "fp8_e4m3" : l.cache);
  if (l.draft_tokens > 0) {
    parts.add("--speculative-algorithm", "NEXTN");
    parts.add("--speculative-num-steps", std::to_string(l.draft_tokens));
    parts.add("--speculative-eagle-topk", "1");
    // The token that the model itself made is checked beside the drafts.
    parts.add("--speculative-num-draft-tokens", std::to_string(l.draft_tokens + 1));
  }
  if (l.eager) {
    parts.add("--cuda-graph-backend-decode", "disabled");
    parts.add("--cuda-graph-backend-prefill", "disabled");
  }
  if (l.role != ServeRole::kBoth)
    parts.add("--disaggregation-mode", l.role == ServeRole::kPrefill ? "prefill" : "decode");
  if (nodes(l) > 1) {
    note_nodes(l, parts);
    parts.add("--nnodes", std::to_string(nodes(l)));
    parts.add("--node-rank", "\"$NODE_RANK\"");
    parts.add("--dist-init-addr", fmt::format("\"$HEAD_ADDR:{}\"", kRendezvousPort));
  }
  return parts;
}

/// What trtllm-serve has no option for in all of its releases.
std::vector<Key> trtllm_file(const ServeLaunch& l) {
  std::vector<Key> file;
  if (l.data > 1) file.push_back({"", "enable_attention_dp", "true"});
  if (l.eager) file.push_back({"", "cuda_graph_config", "null"});
  // An engine that only prefills cannot send a cache while the next step is already being prepared.
  if (l.role == ServeRole::kPrefill) file.push_back({"", "disable_overlap_scheduler", "true"});
  if (!l.cache.empty()) {
    file.push_back({"kv_cache_config", "dtype", l.cache});
    // The file's section replaces what the option said of it.
    if (l.memory_share)
      file.push_back({"kv_cache_config", "free_gpu_memory_fraction", fmt::format("{:g}", *l.memory_share)});
  }
  if (l.draft_tokens > 0) {
    file.push_back({"speculative_config", "decoding_type", "MTP"});
    file.push_back({"speculative_config", "num_nextn_predict_layers", std::to_string(l.draft_tokens)});
  }
  if (l.role != ServeRole::kBoth) file.push_back({"cache_transceiver_config", "backend", "DEFAULT"});
  return file;
}

/// Two engines of one plan may be started from the same folder.
std::string_view trtllm_file_name(ServeRole role) {
  switch (role) {
    case ServeRole::kPrefill:
      return "serve-prefill.yaml";
    case ServeRole::kDecode:
      return "serve-decode.yaml";
    case ServeRole::kBoth:
      break;
  }
  return "serve.yaml";
}

void note_trtllm(const ServeLaunch& l, Parts& parts) {
  if (!l.weights.empty()) {
    parts.notes.push_back(
        fmt::format("The model has to be a checkpoint whose weights are stored in {}.", l.weights));
  }
  if (l.data > 1 && l.tensor > 1) {
    parts.notes.push_back(fmt::format(
        "The plan's {} replicas of the attention on {} GPUs each: TensorRT-LLM makes {} of one GPU of them.",
        l.data, l.tensor, stage_gpus(l)));
  }
  if (nodes(l) > 1) {
    parts.notes.push_back(
        fmt::format("Inside a Slurm allocation of {} nodes, from a folder that all of them see.", nodes(l)));
  }
}

Parts trtllm_parts(const ServeLaunch& l) {
  Parts parts;
  add_notes(l, parts);
  note_trtllm(l, parts);
  parts.file = trtllm_file(l);
  if (nodes(l) > 1) {
    parts.program =
        fmt::format("srun --nodes {} --ntasks {} --ntasks-per-node {} --mpi=pmix trtllm-llmapi-launch ",
                    nodes(l), gpus(l), gpus(l) / nodes(l));
  }
  parts.program += "trtllm-serve " + shell_word(l.model);
  parts.add_above(1, "--tp_size", stage_gpus(l));
  parts.add_above(1, "--pp_size", l.pipeline);
  if (l.expert_parallel) parts.add_above(1, "--ep_size", stage_gpus(l));
  if (nodes(l) > 1) parts.add("--gpus_per_node", std::to_string(gpus(l) / nodes(l)));
  parts.add_above(0, "--max_seq_len", l.max_context);
  parts.add_above(0, "--max_batch_size", of_each(l.max_requests, l.data > 1 ? stage_gpus(l) : 1));
  if (l.prompt_tokens) {
    parts.add("--max_num_tokens", std::to_string(*l.prompt_tokens));
    parts.add("--enable_chunked_prefill");
  }
  if (l.memory_share && l.cache.empty())
    parts.add("--kv_cache_free_gpu_memory_fraction", fmt::format("{:g}", *l.memory_share));
  if (!parts.file.empty()) parts.add("--extra_llm_api_options", std::string(trtllm_file_name(l.role)));
  return parts;
}

Parts parts_of(const ServeLaunch& l) {
  if (l.engine == "vllm") return vllm_parts(l);
  if (l.engine == "sglang") return sglang_parts(l);
  if (l.engine == "trtllm") return trtllm_parts(l);
  return {};
}

std::string file_text(const std::vector<Key>& file, std::string_view name) {
  std::string text = fmt::format("cat > {} <<'EOF'\n", name);
  std::string_view section;
  for (const Key& key : file) {
    if (key.section != section && !key.section.empty()) text += key.section + ":\n";
    section = key.section;
    text += fmt::format("{}{}: {}\n", section.empty() ? "" : "  ", key.name, key.value);
  }
  return text + "EOF\n";
}

}  // namespace

std::string launch_command(const ServeLaunch& launch) {
  const Parts parts = parts_of(launch);
  if (parts.program.empty()) return "";
  std::string text;
  for (const std::string& note : parts.notes) text += "# " + note + "\n";
  if (!parts.file.empty()) text += file_text(parts.file, trtllm_file_name(launch.role));
  text += parts.program;
  for (const Option& option : parts.options) {
    text += " \\\n  " + option.name;
    if (!option.value.empty()) text += " " + option.value;
  }
  return text + "\n";
}

std::vector<std::string> launch_options(const ServeLaunch& launch) {
  const Parts parts = parts_of(launch);
  std::vector<std::string> names;
  for (const Key& key : parts.file)
    names.push_back("yaml:" + (key.section.empty() ? key.name : key.section + "." + key.name));
  for (const Option& option : parts.options) names.push_back(option.name);
  return names;
}

}  // namespace shardplan
