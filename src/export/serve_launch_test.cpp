#include "export/serve_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace shardplan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// What the engine's own sources accept: names, and "name=value" where only some values are.
std::set<std::string> recorded(const std::string& engine) {
  std::ifstream file(std::string(SHARDPLAN_SOURCE_DIR) + "/validation/serving_options/" + engine + ".txt");
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') lines.insert(line);
  }
  return lines;
}

bool takes_some_values(const std::set<std::string>& list, const std::string& name) {
  const auto next = list.lower_bound(name + "=");
  return next != list.end() && next->rfind(name + "=", 0) == 0;
}

ServeLaunch small(const std::string& engine) {
  ServeLaunch l;
  l.engine = engine;
  l.model = "Qwen/Qwen3-32B";
  l.tensor = 2;
  l.max_context = 8192;
  l.max_requests = 64;
  return l;
}

/// Each switch of the struct with the others; 2 ways for what is on or off.
std::vector<ServeLaunch> grid(const std::string& engine) {
  std::vector<ServeLaunch> all;
  for (const std::string weights : {"", "fp8", "int8", "awq", "gptq", "mxfp4", "nvfp4"}) {
    for (const std::int64_t tensor : {1, 8}) {
      for (const std::int64_t data : {1, 4}) {
        for (const std::int64_t pipeline : {1, 2}) {
          for (const ServeRole role : {ServeRole::kBoth, ServeRole::kPrefill, ServeRole::kDecode}) {
            for (const bool more : {false, true}) {
              ServeLaunch l = small(engine);
              l.weights = weights, l.tensor = tensor, l.data = data, l.pipeline = pipeline, l.role = role;
              l.expert_parallel = l.eager = more;
              l.draft_tokens = more ? 3 : 0;
              if (more) l.cache = "fp8", l.memory_share = 0.85, l.prompt_tokens = 4096;
              all.push_back(l);
            }
          }
        }
      }
    }
  }
  return all;
}

class Launch : public ::testing::TestWithParam<const char*> {};

TEST_P(Launch, OptionsAreTheEnginesOwn) {
  const auto list = recorded(GetParam());
  ASSERT_GT(list.size(), 100U);
  EXPECT_FALSE(list.contains("--tensor-paralel-size")) << "the lists would let a misspelt name through";
  for (const ServeLaunch& l : grid(GetParam())) {
    for (const std::string& option : launch_options(l)) {
      ASSERT_TRUE(list.contains(option)) << option << "\n" << launch_command(l);
    }
  }
}

TEST_P(Launch, TextUsesNoOtherOptions) {
  const auto list = recorded(GetParam());
  const std::regex option(
      "(^|\n  |add )(--[a-z_-]+)");  // of a line of its own, or that a comment says to add
  for (const ServeLaunch& l : grid(GetParam())) {
    const std::string text = launch_command(l);
    for (std::sregex_iterator m(text.begin(), text.end(), option), end; m != end; ++m) {
      ASSERT_TRUE(list.contains((*m)[2].str())) << (*m)[2] << "\n" << text;
    }
  }
}

TEST_P(Launch, ValuesAreAmongThoseThatTheOptionTakes) {
  const auto list = recorded(GetParam());
  const std::regex pair("\n  (--[a-z_-]+) ([^ \n]+)");
  bool looked = std::string(GetParam()) == "trtllm";  // its words are in the file: see the exact texts
  for (const ServeLaunch& l : grid(GetParam())) {
    const std::string text = launch_command(l);
    for (std::sregex_iterator m(text.begin(), text.end(), pair), end; m != end; ++m) {
      const std::string name = (*m)[1], value = (*m)[2];
      if (!takes_some_values(list, name)) continue;
      looked = true;
      ASSERT_TRUE(list.contains(name + "=" + value)) << name << " " << value;
    }
  }
  EXPECT_TRUE(looked);
}

INSTANTIATE_TEST_SUITE_P(Engines, Launch, ::testing::Values("vllm", "sglang", "trtllm"));

TEST(LaunchCommand, Vllm) {
  ServeLaunch l = small("vllm");
  l.max_requests = 0;
  EXPECT_EQ(launch_command(l),
            "vllm serve Qwen/Qwen3-32B \\\n  --tensor-parallel-size 2 \\\n  --max-model-len 8192\n");
  l.data = 4, l.max_requests = 1022, l.expert_parallel = true, l.prompt_tokens = 4096, l.cache = "fp8";
  EXPECT_EQ(launch_command(l), R"(vllm serve Qwen/Qwen3-32B \
  --tensor-parallel-size 2 \
  --data-parallel-size 4 \
  --enable-expert-parallel \
  --max-model-len 8192 \
  --max-num-seqs 256 \
  --max-num-batched-tokens 4096 \
  --kv-cache-dtype fp8
)") << "requests are told for each replica";
}

TEST(LaunchCommand, SglangCountsTheReplicasInItsTensorDegree) {
  ServeLaunch l = small("sglang");
  l.data = 4, l.expert_parallel = true, l.prompt_tokens = 4096, l.memory_share = 0.85, l.draft_tokens = 3;
  EXPECT_EQ(launch_command(l),
            R"(# The draft tokens come from the model's own layers for multi-token prediction.
python3 -m sglang.launch_server \
  --model-path Qwen/Qwen3-32B \
  --tp-size 8 \
  --attn-dp-size 4 \
  --ep-size 8 \
  --context-length 8192 \
  --max-running-requests 64 \
  --chunked-prefill-size 16384 \
  --mem-fraction-static 0.85 \
  --speculative-algorithm NEXTN \
  --speculative-num-steps 3 \
  --speculative-eagle-topk 1 \
  --speculative-num-draft-tokens 4
)");
}

TEST(LaunchCommand, TrtllmWritesWhatOnlyItsFileSays) {
  ServeLaunch l = small("trtllm");
  EXPECT_THAT(launch_command(l), Not(HasSubstr("yaml"))) << "no file for nothing";
  l.tensor = 1, l.data = 8, l.cache = "fp8", l.memory_share = 0.8, l.draft_tokens = 2, l.eager = true;
  l.role = ServeRole::kPrefill;
  EXPECT_EQ(launch_command(l),
            R"(# The draft tokens come from the model's own layers for multi-token prediction.
# This engine only prefills: a router sends each request through it and one that decodes.
cat > serve-prefill.yaml <<'EOF'
enable_attention_dp: true
cuda_graph_config: null
disable_overlap_scheduler: true
kv_cache_config:
  dtype: fp8
  free_gpu_memory_fraction: 0.8
speculative_config:
  decoding_type: MTP
  num_nextn_predict_layers: 2
cache_transceiver_config:
  backend: DEFAULT
EOF
trtllm-serve Qwen/Qwen3-32B \
  --tp_size 8 \
  --max_seq_len 8192 \
  --max_batch_size 8 \
  --extra_llm_api_options serve-prefill.yaml
)");
  for (const char* value : {"kv_cache_config.dtype=fp8", "speculative_config.decoding_type=MTP",
                            "cache_transceiver_config.backend=DEFAULT"}) {
    EXPECT_THAT(recorded("trtllm"), Contains(std::string("yaml:") + value));
  }
}

TEST(LaunchCommand, TrtllmSaysWhereItsReplicasDiffer) {
  ServeLaunch l = small("trtllm");
  l.data = 4;
  EXPECT_THAT(launch_command(l),
              HasSubstr("# The plan's 4 replicas of the attention on 2 GPUs each: TensorRT-LLM "
                        "makes 8 of one GPU of them.\n"));
}

TEST(LaunchCommand, SeveralNodes) {
  ServeLaunch l = small("vllm");
  l.tensor = 8, l.pipeline = 2;
  EXPECT_THAT(launch_command(l), HasSubstr("  --nnodes 2 \\\n  --node-rank \"$NODE_RANK\" \\\n"
                                           "  --master-addr \"$HEAD_ADDR\"\n"));
  EXPECT_THAT(launch_command(l), HasSubstr("add --headless"));
  l.engine = "sglang";
  EXPECT_THAT(launch_command(l), HasSubstr("  --nnodes 2 \\\n  --node-rank \"$NODE_RANK\" \\\n"
                                           "  --dist-init-addr \"$HEAD_ADDR:20000\"\n"));
  l.engine = "trtllm";
  EXPECT_THAT(launch_command(l), HasSubstr("srun --nodes 2 --ntasks 16 --ntasks-per-node 8 --mpi=pmix "
                                           "trtllm-llmapi-launch trtllm-serve Qwen/Qwen3-32B \\\n"));
  l.tensor = 10, l.pipeline = 1;
  EXPECT_THAT(launch_command(l), HasSubstr("--ntasks-per-node 5 ")) << "as many GPUs on each node";
  l.tensor = 8;
  EXPECT_THAT(launch_command(l), Not(HasSubstr("srun")));
}

TEST(LaunchCommand, PrefillAndDecodeEngines) {
  ServeLaunch l = small("vllm");
  l.role = ServeRole::kPrefill;
  EXPECT_THAT(
      launch_command(l),
      HasSubstr(R"(--kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_producer"}')"));
  l.role = ServeRole::kDecode;
  EXPECT_THAT(launch_command(l), HasSubstr(R"("kv_role": "kv_consumer")"));
  l.engine = "sglang";
  EXPECT_THAT(launch_command(l), HasSubstr("--disaggregation-mode decode"));
  l.engine = "trtllm";
  EXPECT_THAT(launch_command(l), HasSubstr("cat > serve-decode.yaml"));
  EXPECT_THAT(launch_command(l), Not(HasSubstr("disable_overlap_scheduler")));
}

TEST(LaunchCommand, ModelIsOneWord) {
  ServeLaunch l = small("vllm");
  l.model = "/models/it's; rm -r x";
  EXPECT_THAT(launch_command(l), HasSubstr("vllm serve '/models/it'\\''s; rm -r x' \\\n"));
}

TEST(LaunchCommand, NothingForAnotherEngine) {
  EXPECT_EQ(launch_command(small("llama.cpp")), "");
  EXPECT_TRUE(launch_options(small("llama.cpp")).empty());
}

}  // namespace
}  // namespace shardplan
