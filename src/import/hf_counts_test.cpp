// Parameter counts against figures that are exact: checkpoints whose index or module prints its size, and the
// shapes of the catalog.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "catalog/parameters.h"
#include "import/catalog.h"
#include "import/hf_config.h"
#include "import/json_text.h"

namespace shardplan {
namespace {

using nlohmann::json;

TEST(HfCounts, CheckpointsMatchToTheLastParameter) {
  const auto text = read_text_file(SHARDPLAN_SOURCE_DIR "/tests/data/exact_counts.json");
  ASSERT_TRUE(text) << text.error().message;
  const auto file = parse_json(*text, "exact_counts.json");
  ASSERT_TRUE(file) << file.error().message;
  for (const json& row : (*file)["rows"]) {
    SCOPED_TRACE(row["name"].get<std::string>());
    const auto model = import_hf_config(row["config"].dump(), "config.json");
    ASSERT_TRUE(model) << model.error().where << ": " << model.error().message;
    std::int64_t total = count_parameters(*model).total;
    for (const json& name : row["extras"]) {
      const auto extra = std::find_if(model->extras.begin(), model->extras.end(),
                                      [&](const NamedCount& e) { return e.name == name.get<std::string>(); });
      ASSERT_NE(extra, model->extras.end()) << name;
      total += extra->parameters;
    }
    EXPECT_EQ(total, row["checkpoint_parameters"].get<std::int64_t>());
  }
  EXPECT_EQ((*file)["rows"].size(), 14U);
}

// Configs of a few fields against the classes that define them: checks each class default, and flags that no
// checkpoint above sets (biases, shared keys, latent experts, layer patterns).
TEST(HfCounts, ReferenceClassesBuildTheSameNumberOfParameters) {
  constexpr std::size_t kRows = 76;
  const auto text = read_text_file(SHARDPLAN_SOURCE_DIR "/tests/data/reference_counts.json");
  ASSERT_TRUE(text) << text.error().message;
  const auto file = parse_json(*text, "reference_counts.json");
  ASSERT_TRUE(file) << file.error().message;
  for (const json& row : (*file)["rows"]) {
    SCOPED_TRACE(row["config"].dump());
    const auto model = import_hf_config(row["config"].dump(), "config.json");
    ASSERT_TRUE(model) << model.error().where << ": " << model.error().message;
    EXPECT_EQ(count_parameters(*model).total, row["parameters"].get<std::int64_t>());
  }
  EXPECT_EQ((*file)["rows"].size(), kRows);
}

struct Counts {
  std::int64_t total = 0, active = 0, active_without_embedding = 0;  // 0 = not compared
};

/// What each shape counts to. Shapes that no checkpoint above has are worked out beside the number or in the
/// corpus test; a change here is a change of the importer or of a shape.
const std::map<std::string, Counts>& known_counts() {
  static const std::map<std::string, Counts> known = {
      // 96 (12 h^2 + 13 h) + (50257 + 2048) h + 2 h, h = 12288
      {"gpt3-175b", {174'604'259'328}},
      {"gpt2-124m", {124'439'808}},
      {"gpt2-1.5b", {1'557'611'200}},
      // 12 L h^2 + 13 L h + (51200 + 2048) h + 2 h; the paper's table prints 22.0, 529.6 and 1008.0 (e9)
      {"gpt-22b", {22'074'273'792}},
      {"gpt-530b", {529'600'819'200}},
      {"gpt-1t", {1'008'038'758'400}},
      {"llama2-7b", {6'738'415'616}},
      {"llama2-13b", {13'015'864'320}},
      {"llama2-70b", {68'976'648'192}},
      {"llama3-8b", {8'030'261'248}},
      {"llama3-70b", {70'553'706'496}},
      {"llama3-405b", {405'853'388'800}},
      {"llama3.2-1b", {1'235'814'400}},
      {"llama3.2-3b", {3'212'749'824}},
      {"llama4-scout", {107'769'861'120, 17'172'894'720, 16'138'408'960}},
      {"llama4-maverick", {400'711'848'960, 17'184'691'200, 16'150'205'440}},
      {"mistral-7b", {7'241'732'096}},
      {"mixtral-8x7b", {46'702'792'704, 12'879'925'248, 12'748'853'248}},
      {"mixtral-8x22b", {140'620'634'112, 39'152'031'744, 38'955'423'744}},
      {"qwen2.5-7b", {7'615'616'512}},
      {"qwen2.5-14b", {14'770'033'664}},
      {"qwen2.5-32b", {32'763'876'352}},
      {"qwen2.5-72b", {72'706'203'648}},
      {"qwen3-0.6b", {596'049'920}},
      {"qwen3-1.7b", {1'720'574'976}},
      {"qwen3-8b", {8'190'735'360}},
      {"qwen3-14b", {14'768'307'200}},
      {"qwen3-32b", {32'762'123'264}},
      {"qwen3-30b-a3b", {30'532'122'624, 3'353'032'704, 3'041'867'776}},
      {"qwen3-235b-a22b", {235'093'634'560, 22'190'763'520, 21'568'433'664}},
      {"qwen3-next-80b-a3b", {79'674'391'296}},
      {"deepseek-v2", {235'741'434'880}},
      {"deepseek-v2-lite", {15'706'484'224, 2'661'150'208, 2'451'435'008}},
      {"deepseek-v3", {671'026'419'200, 37'552'297'472, 36'625'618'432}},
      {"kimi-k2", {1'026'408'232'448, 32'861'500'928, 31'687'095'808}},
      {"glm-4.5", {352'797'829'024, 33'632'266'144, 32'856'319'904}},
      {"gpt-oss-20b", {20'914'757'184, 4'187'440'704, 3'608'307'264}},
      {"gpt-oss-120b", {116'829'156'672, 5'711'982'912, 5'132'849'472}},
      {"gemma-2-27b", {27'227'128'320}},
      {"gemma-3-27b", {27'009'346'304}},
      {"phi-3-mini", {3'821'079'552}},
      {"falcon-180b", {179'522'565'120}},
      {"bloom-176b", {176'247'271'424}},
      // 32 (2 (h^2 + h 1024) + 8 h^2 + 4 h) + 2 * 256000 h + 2 h, h = 6144; the report says 3.2 + 12.5 (e9)
      {"nemotron4-15b", {15'628'775'424}},
      // 96 (2 (h^2 + h 1536) + 8 h^2 + 4 h) + 2 * 256000 h + 2 h, h = 18432; the report says 9.4 + 331.6 (e9)
      {"nemotron4-340b", {341'029'195'776}},
      {"nemotron-h-56b", {56'324'350'464}},
      // 64 (2 h^2 + 2 h 1024 + 8 * 3 h 32768 + 8 h + 4 h) + 131072 h + h, h = 6144; the headline says 314e9
      {"grok-1-314b", {315'684'820'992}},
      {"minimax-m2", {228'689'764'864, 11'030'553'088, 10'415'956'480}},
  };
  return known;
}

TEST(HfCounts, EveryShapeOfTheCatalog) {
  std::size_t compared = 0;
  for (const ModelEntry& entry : catalog().models) {
    SCOPED_TRACE(entry.name);
    const auto model = entry.model();
    ASSERT_TRUE(model) << model.error().where << ": " << model.error().message;
    EXPECT_EQ(model->source.kind, SourceKind::kPublished);
    EXPECT_GT(model->max_positions, 0);
    const auto known = known_counts().find(entry.name);
    if (known == known_counts().end()) continue;
    ++compared;
    const ParameterCount count = count_parameters(*model);
    EXPECT_EQ(count.total, known->second.total);
    if (known->second.active == 0) continue;
    EXPECT_EQ(count.active, known->second.active);
    EXPECT_EQ(count.active_without_embedding, known->second.active_without_embedding);
  }
  EXPECT_EQ(compared, known_counts().size());
}

TEST(HfCounts, CheckpointsOfCatalogShapesWithTheirExtras) {
  const auto with_extras = [](const char* name) {
    const auto entry = find_model(catalog(), name, "test");
    const auto model = (*entry)->model();
    std::int64_t total = count_parameters(*model).total;
    for (const NamedCount& extra : model->extras) total += extra.parameters;
    return total;
  };
  // Headlines 358e9 and 685e9 with the prediction layer; 27,432,406,640 is the checkpoint's own figure.
  EXPECT_EQ(with_extras("glm-4.5"), 358'337'791'296);
  EXPECT_EQ(with_extras("gemma-3-27b"), 27'432'406'640);
  EXPECT_EQ(with_extras("deepseek-v3"), 684'489'845'504);
}

TEST(HfCounts, HubIdsAndSpellingsFindTheirShape) {
  const std::pair<const char*, const char*> names[] = {
      {"meta-llama/Llama-3.1-70B", "llama3-70b"},
      {"meta-llama/Meta-Llama-3.1-70B", "llama3-70b"},
      {"deepseek-r1", "deepseek-v3"},
      {"openai/gpt-oss-120b", "gpt-oss-120b"},
      {"GPT-3 175B", "gpt3-175b"},
      {"Llama 2 7 B", "llama2-7b"},
  };
  for (const auto& [alias, name] : names) {
    const auto entry = find_model(catalog(), alias, "test");
    ASSERT_TRUE(entry) << alias;
    EXPECT_EQ((*entry)->name, name);
  }
}

}  // namespace
}  // namespace shardplan
