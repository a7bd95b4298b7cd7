// The corpus of real configs and their counted sizes that lies beside the checkout. Without it these tests
// skip and say what was not checked; tests/data/exact_counts.json has the exact rows for that case.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "catalog/parameters.h"
#include "import/hf_config.h"
#include "import/json_text.h"

namespace shardplan {
namespace {

constexpr const char* kCorpus = SHARDPLAN_SOURCE_DIR "/../shared/data";
constexpr int kFiles = 45;
constexpr int kCountedRows = 37;

bool corpus_is_there() { return std::filesystem::exists(std::string(kCorpus) + "/hf_params.csv"); }

Result<Model> read(const std::string& file) {
  const auto text = read_text_file(std::string(kCorpus) + "/hf_configs/" + file);
  if (!text) return text.error();
  return import_hf_config(*text, file);
}

using Row = std::map<std::string, std::string>;

/// Fields in quotes may hold commas; none in this file holds a line end.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else if (c != '\r')
      out.back() += c;
  }
  return out;
}

std::vector<Row> rows() {
  const auto text = read_text_file(std::string(kCorpus) + "/hf_params.csv");
  std::vector<Row> out;
  std::vector<std::string> header;
  std::string line;
  for (const char c : text.value() + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.empty()) continue;
    const auto fields = fields_of(line);
    line.clear();
    if (header.empty()) {
      header = fields;
      continue;
    }
    out.emplace_back();
    for (std::size_t i = 0; i < header.size() && i < fields.size(); ++i) out.back()[header[i]] = fields[i];
  }
  return out;
}

std::int64_t extra(const Model& model, const std::string& name) {
  for (const NamedCount& e : model.extras)
    if (e.name == name) return e.parameters;
  ADD_FAILURE() << model.name << " has no extra " << name;
  return 0;
}

/// What these checkpoints hold beside the language model's main layers; the others hold nothing else.
const std::map<std::string, std::string>& extras_in_checkpoint() {
  static const std::map<std::string, std::string> names = {
      {"gemma-3-27b-it(medgemma).json", "vision_tower"},
      {"pythia-1.4b(reward-model).json", "reward_head"},
      {"openpangu-7b.json", "rotary_buffers"},
      {"mimo-7b(mtp).json", "mtp"},
  };
  return names;
}

void expect_counts(const Row& row, const Model& model) {
  const std::string& file = row.at("config_file");
  const ParameterCount count = count_parameters(model);
  const auto held = extras_in_checkpoint().find(file);
  const std::int64_t beside = held == extras_in_checkpoint().end() ? 0 : extra(model, held->second);
  const auto expect = [&](const char* column, std::int64_t ours, std::int64_t slack) {
    if (row.at(column).empty()) return;
    EXPECT_LE(std::abs(ours - std::stoll(row.at(column))), slack) << column << " of " << ours;
  };
  expect("exact_total_params", count.total + beside, 0);
  // The row of MiMo counts its prediction layer in the total and leaves it out of the active figure:
  // 7,833,409,536 - 210,790,400 = 7,622,619,136. Its total is the checkpoint's, ours the main layers'.
  expect("counted_total", count.total + (file == "mimo-7b(mtp).json" ? beside : 0), 0);
  // The active figures of GLM-5 are rounded to a million: 41,784,728,832 and 40,833,146,112.
  const std::int64_t slack = file == "glm-5.json" ? 500'000 : 0;
  expect("counted_active_all_params", count.active, slack);
  expect("counted_active_excl_input_embedding", count.active_without_embedding, slack);
}

TEST(HfCorpus, EveryFileImports) {
  if (!corpus_is_there()) GTEST_SKIP() << kFiles << " config files not read: " << kCorpus << " is absent";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(kCorpus) + "/hf_configs")) {
    const std::string file = entry.path().filename().string();
    const auto model = read(file);
    EXPECT_TRUE(model) << file << ": " << model.error().where << ": " << model.error().message;
    ++files;
  }
  EXPECT_EQ(files, kFiles);
}

TEST(HfCorpus, EveryCountedRowMatches) {
  if (!corpus_is_there())
    GTEST_SKIP() << kCountedRows << " counted rows not compared: " << kCorpus << " is absent";
  int compared = 0;
  for (const Row& row : rows()) {
    if (row.at("exact_total_params").empty() && row.at("counted_total").empty()) continue;
    SCOPED_TRACE(row.at("config_file"));
    const auto model = read(row.at("config_file"));
    ASSERT_TRUE(model) << model.error().message;
    expect_counts(row, *model);
    ++compared;
  }
  EXPECT_EQ(compared, kCountedRows);
}

// The four partial transcriptions import: every field that they leave out has a default in the reference
// class, which would read them the same way, and each default used is in Model.assumed.
TEST(HfCorpus, PartialTranscriptionsSayWhatTheyAssume) {
  if (!corpus_is_there()) GTEST_SKIP() << "4 partial transcriptions not read: " << kCorpus << " is absent";
  const std::pair<const char*, std::vector<std::string>> files[] = {
      {"deepseek-v2-lite.json", {"attention_bias = false", "moe_layer_freq = 1"}},
      {"gpt2.json", {"n_inner = 3072", "tie_word_embeddings = true"}},
      {"gemma-3n-e4b(text).json", {"tie_word_embeddings = true"}},
      // The class takes 8 experts a token, Kimi-VL's own file 6: the active figure is the default's, and says
      // so.
      {"kimi-vl-a3b(text).json", {"num_experts_per_tok = 8", "tie_word_embeddings = false"}},
  };
  for (const auto& [file, lines] : files) {
    const auto model = read(file);
    ASSERT_TRUE(model) << file;
    for (const std::string& line : lines) {
      bool found = false;
      for (const std::string& said : model->assumed) found = found || said.starts_with(line);
      EXPECT_TRUE(found) << file << " does not say " << line;
    }
  }
}

// Rows without a count, worked out here from the shape. h is the hidden size.
struct ByHand {
  const char* file;
  std::int64_t total;
};

constexpr std::int64_t deepseek_v32() {
  constexpr std::int64_t h = 7168, rank = 1536;
  // DeepSeek-V3 and an indexer in each of 61 layers: queries, key, weights, layer norm of the key.
  return 671'026'419'200 + 61 * (rank * 64 * 128 + h * 128 + h * 64 + 2 * 128);
}
constexpr std::int64_t nemotron_h_56b() {
  constexpr std::int64_t h = 8192, inner = 256 * 64, conv = inner + 2 * 8 * 256;
  constexpr std::int64_t mamba = h * (inner + conv + 256) + 5 * conv + 3 * 256 + inner + inner * h + h;
  constexpr std::int64_t attention = 2 * h * h + 2 * h * 1024 + h, mlp = 2 * h * 32768 + h;
  return 54 * mamba + 10 * attention + 54 * mlp + 2 * 131072 * h + h;
}
constexpr std::int64_t nemotron_3_nano() {
  constexpr std::int64_t h = 2688, inner = 64 * 64, conv = inner + 2 * 8 * 128;
  constexpr std::int64_t mamba = h * (inner + conv + 64) + 5 * conv + 3 * 64 + inner + inner * h + h;
  constexpr std::int64_t attention = 2 * h * 4096 + 2 * h * 256 + h;
  // Two matrices an expert, no gate; the router has a correction an expert.
  constexpr std::int64_t experts = 128 * 2 * h * 1856 + 2 * h * 3712 + 128 * h + 128 + h;
  return 23 * mamba + 6 * attention + 23 * experts + 2 * 131072 * h + h;
}
constexpr std::int64_t qwen3_vl_4b() {
  constexpr std::int64_t h = 2560;
  return 36 * (2 * h * 4096 + 2 * h * 1024 + 2 * 128 + 3 * h * 9728 + 2 * h) + 151936 * h + h;
}
constexpr std::int64_t gemma_4_31b() {
  constexpr std::int64_t h = 5376, rest = 3 * h * 21504 + 4 * h;
  constexpr std::int64_t sliding = 2 * h * 8192 + 2 * h * 4096 + 2 * 256;
  // Full layers: heads of 512, four key heads, the key serves as value.
  constexpr std::int64_t full = 2 * h * 16384 + h * 2048 + 2 * 512;
  return 50 * (sliding + rest) + 10 * (full + rest) + 262144 * h + h;
}
constexpr std::int64_t gemma_3n_e4b() {
  constexpr std::int64_t h = 2048, width = 256, layers = 35;
  constexpr std::int64_t attention = 2 * h * 2048 + 2 * h * 512 + 2 * 256, mlp = 3 * h * 16384 + 4 * h;
  constexpr std::int64_t laurel = 2 * h * 64 + h, altup = 2 * h + 4 * h + 64 + 16, inputs = 2 * h * width + h;
  // Keys and values of the 15 layers that share a cache are in the checkpoint all the same.
  return layers * (attention + mlp + laurel + altup + inputs) + 262400 * h + 262144 * width * layers +
         h * width * layers + width + 6 * h * h + h;
}
constexpr std::int64_t kimi_vl() {
  // The published total less a MoonViT of 27 layers, width 1152, and its projector to 2048.
  constexpr std::int64_t h = 1152, f = 4304, m = 4 * h;
  constexpr std::int64_t layer = 4 * h + 4 * (h * h + h) + 2 * h * f + f + h;
  constexpr std::int64_t edges = 3 * 14 * 14 * h + h + 64 * 64 * h + 2 * h;
  constexpr std::int64_t projector = 2 * h + m * m + m + m * 2048 + 2048;
  return 16'407'656'048 - 27 * layer - edges - projector;
}

TEST(HfCorpus, RowsWithoutACountMatchTheHandCount) {
  if (!corpus_is_there()) GTEST_SKIP() << "7 hand-counted rows not compared: " << kCorpus << " is absent";
  const ByHand cases[] = {
      {"deepseek-v3.2.json", deepseek_v32()},
      {"nemotron-h-56b.json", nemotron_h_56b()},
      {"nemotron-3-nano-30b-a3b.json", nemotron_3_nano()},
      {"qwen3-vl-4b.json", qwen3_vl_4b()},
      {"gemma-4-31b-it-nvfp4.json", gemma_4_31b()},
      {"gemma-3n-e4b(text).json", gemma_3n_e4b()},
      {"kimi-vl-a3b(text).json", kimi_vl()},
  };
  for (const ByHand& by_hand : cases) {
    const auto model = read(by_hand.file);
    ASSERT_TRUE(model) << by_hand.file;
    EXPECT_EQ(count_parameters(*model).total, by_hand.total) << by_hand.file;
  }
}

// Nobody has counted DeepSeek-V4-Flash: its headline says 284e9 and 13e9 active.
TEST(HfCorpus, DeepSeekV4FlashIsNearItsHeadline) {
  if (!corpus_is_there()) GTEST_SKIP() << "1 headline not compared: " << kCorpus << " is absent";
  const auto model = read("deepseek-v4-flash.json");
  ASSERT_TRUE(model);
  const ParameterCount count = count_parameters(*model);
  EXPECT_NEAR(static_cast<double>(count.total), 284e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(count.active_without_embedding), 13e9, 0.5e9);
  EXPECT_EQ(model->quantization.expert_bits, 4);
}

// The prediction module has no compressor (its ratio, the 44th, is 0) and a head of streams of its own; it
// shares embedding and head with the model.
TEST(HfCorpus, DeepSeekV4FlashPredictionModuleByHand) {
  if (!corpus_is_there()) GTEST_SKIP() << "1 hand-counted module not compared: " << kCorpus << " is absent";
  const auto model = read("deepseek-v4-flash.json");
  ASSERT_TRUE(model);
  constexpr std::int64_t h = 4096, rank = 1024, query = 64 * 512, streams = 4;
  constexpr std::int64_t attention =
      h * rank + rank + rank * query + h * 512 + 512 + query * rank + 8 * rank * h + 64;
  constexpr std::int64_t experts = 256 * h + 256 + (256 + 1) * 3 * h * 2048;
  constexpr std::int64_t connections = 2 * (24 * streams * h + 24 + 3);
  constexpr std::int64_t head = streams * streams * h + streams + 1;
  EXPECT_EQ(extra(*model, "mtp"), attention + experts + connections + 2 * h + 2 * h * h + 3 * h + head);
}

TEST(HfCorpus, QuantizationIsRead) {
  if (!corpus_is_there()) GTEST_SKIP() << "4 quantized configs not compared: " << kCorpus << " is absent";
  const auto method = [](const char* file) { return read(file)->quantization; };
  EXPECT_EQ(method("deepseek-v3.json").bits, 8);
  EXPECT_EQ(method("gpt-oss-120b.json").bits, 4);
  EXPECT_EQ(method("gpt-oss-120b.json").not_converted.size(), 4U);
  EXPECT_EQ(method("gemma-4-31b-it-nvfp4.json").bits, 4);
  EXPECT_EQ(method("gemma-4-31b-it-nvfp4.json").not_converted.size(), 6U);
  EXPECT_EQ(method("minimax-m2.5.json").not_converted.size(), 3U);
}

}  // namespace
}  // namespace shardplan
