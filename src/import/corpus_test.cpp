#include "import/corpus.h"

#include <gtest/gtest.h>

#include "import/catalog.h"
#include "import/json_text.h"

namespace shardplan {
namespace {

TEST(Corpus, TheFirstPrefixThatFitsCounts) {
  const Corpus& corpus = catalog().corpus;
  const auto timing = [&](const char* text) {
    const CorpusFramework* found = corpus.framework_of(text);
    return found == nullptr ? "none" : found->framework + " " + found->timing;
  };
  EXPECT_EQ(timing("Megatron-LM (arXiv:2205.05198) v2"), "megatron megatron-lm-2022");
  EXPECT_EQ(timing("Megatron-LM (SC21)"), "megatron megatron-lm-2021");
  EXPECT_EQ(timing("Megatron-DeepSpeed (BLOOM tuning)"), "deepspeed ");
  EXPECT_EQ(timing("Keras"), "none");
  EXPECT_TRUE(corpus.framework_of("Megatron-LM PTD-P")->stored_scores);
  EXPECT_FALSE(corpus.framework_of("Megatron-LM 23e00ed0")->stored_scores);
  EXPECT_FALSE(corpus.framework_of("torchtitan")->zero_stage) << "a row that does not print it is skipped";
}

TEST(Corpus, NamesWhatTheCatalogHas) {
  for (const CorpusFramework& f : catalog().corpus.frameworks) {
    EXPECT_TRUE(find_framework(catalog(), f.framework, "")) << f.prefix;
    EXPECT_TRUE(f.timing.empty() || find_timing(catalog(), f.timing, "")) << f.prefix;
    EXPECT_FALSE(f.source.title.empty()) << f.prefix;
  }
  for (const CorpusFabric& f : catalog().corpus.fabrics) EXPECT_TRUE(find_fabric(catalog(), f.fabric, ""));
}

TEST(Corpus, AFileThatIsWrongSaysWhere) {
  const auto json = parse_json(R"({"frameworks": [{"prefix": "X"}]})", "corpus");
  ASSERT_TRUE(json);
  ReadLog log{"corpus", {}};
  Corpus corpus;
  read_corpus(JsonNode(&json.value(), "", &log), catalog().sources, corpus);
  ASSERT_TRUE(log.error);
  EXPECT_NE(log.error->where.find("frameworks"), std::string::npos) << log.error->where;
}

}  // namespace
}  // namespace shardplan
