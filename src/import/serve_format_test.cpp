#include "catalog/serve_format.h"

#include <gtest/gtest.h>

#include "import/catalog.h"

namespace shardplan {
namespace {

Model model_of(const char* name) { return (*find_model(catalog(), name, ""))->model().value(); }
const Device& device_of(const char* name) { return **find_device(catalog(), name, ""); }

TEST(ServeFormat, ACheckpointIsReadAsItIsStored) {
  const ServeFormat oss = stored_format(model_of("gpt-oss-120b"), device_of("h100-sxm"));
  EXPECT_EQ(oss.expert_bits, 4.25);
  EXPECT_EQ(oss.attention_bits, 16);
  EXPECT_EQ(oss.expert_multiple, 256);
  const ServeFormat v3 = stored_format(model_of("deepseek-v3"), device_of("h100-sxm"));
  EXPECT_EQ(v3.attention_bits, 8);
  EXPECT_EQ(v3.products, Precision::kFp8);
  EXPECT_EQ(v3.block, 128);
  EXPECT_EQ(v3.head_bits, 16);
  EXPECT_EQ(stored_format(model_of("deepseek-v3"), device_of("a100-80gb-sxm")).products, Precision::kBf16);
  EXPECT_EQ(stored_format(model_of("llama3-8b"), device_of("h100-sxm")).mlp_bits, 16);
}

TEST(ServeFormat, ModulesThatAreNotConvertedKeepTheirWidth) {
  Model model = model_of("llama3-405b");
  model.quantization = {
      "fbgemm_fp8",
      8,
      0,
      0,
      {"model.layers.*.self_attn", "model.layers.0.mlp", "model.layers.125.mlp.*", "lm_head"}};
  const ServeFormat format = stored_format(model, device_of("h100-sxm"));
  EXPECT_EQ(format.attention_bits, 16);
  EXPECT_NEAR(format.mlp_bits, 8 + 8 * 2.0 / 126, 1e-9);
}

TEST(ServeFormat, ListsNameModulesInManyWays) {
  const Weight query{"attention.query", 1, Cut::kTensor}, router{"moe.router", 1, Cut::kReplicated};
  const auto kept = [](const char* entry, const Weight& weight, std::size_t layer = 3) {
    return kept_as_is({entry}, weight, layer);
  };
  EXPECT_TRUE(kept("model.layers.3.self_attn.q_proj", query));
  EXPECT_FALSE(kept("model.layers.31.self_attn.q_proj", query));
  EXPECT_TRUE(kept("model.language_model.layers.3.self_attn*", query));
  EXPECT_TRUE(kept("self_attn", query));
  EXPECT_TRUE(kept("re:.*self_attn.*", query));
  EXPECT_FALSE(kept("re:(", query));
  EXPECT_TRUE(kept("gate", router));
  EXPECT_FALSE(kept("gate", query));
  EXPECT_FALSE(kept("lm_head", query));
}

TEST(ServeFormat, ToldFormatsAreThoseOfTheNames) {
  const Device& h100 = device_of("h100-sxm");
  for (const std::string& name : serve_format_names())
    EXPECT_TRUE(told_format(name, model_of("llama3-8b"), h100)) << name;
  EXPECT_FALSE(told_format("fp9", model_of("llama3-8b"), h100));
  // Of a mixture four bits are its experts'.
  EXPECT_EQ(told_format("int4", model_of("mixtral-8x7b"), h100)->attention_bits, 16);
  EXPECT_EQ(told_format("awq", model_of("llama3-8b"), h100)->attention_bits, 4.15625);
}

}  // namespace
}  // namespace shardplan
