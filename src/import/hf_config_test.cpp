#include "import/hf_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "catalog/parameters.h"
#include "import/hf_architectures.h"

namespace shardplan {
namespace {

using nlohmann::json;

json llama() {
  return json::parse(R"({"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,
                         "intermediate_size":14336,"max_position_embeddings":131072,"num_attention_heads":32,
                         "num_hidden_layers":32,"num_key_value_heads":8,"head_dim":128,"attention_bias":false,
                         "mlp_bias":false,"tie_word_embeddings":false,"torch_dtype":"bfloat16",
                         "vocab_size":128256})");
}
json mixtral() {
  return json::parse(R"({"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,
    "num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"num_local_experts":8,
    "num_experts_per_tok":2,"vocab_size":32000})");
}

Result<Model> read(const json& config) { return import_hf_config(config.dump(), "config.json"); }
Result<Model> read(json config, const json& changes) {
  config.update(changes);
  return read(config);
}
std::int64_t total(const Result<Model>& model) { return model ? count_parameters(*model).total : -1; }
bool assumes(const Model& model, const std::string& part) {
  return std::any_of(model.assumed.begin(), model.assumed.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(HfConfig, ReadsLlama) {
  const auto model = read(llama());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(count_parameters(*model).total, 8'030'261'248);
  EXPECT_EQ(model->architecture, "llama");
  EXPECT_EQ(model->dtype, "bfloat16");
  EXPECT_EQ(model->layers.size(), 32U);
  EXPECT_EQ(std::get<Attention>(model->layers[0].mixer).kv_heads, 8);
  EXPECT_TRUE(model->assumed.empty());
}

TEST(HfConfig, ReadsGpt2AndGpt3) {
  const auto gpt3 = json::parse(
      R"({"model_type":"gpt2","n_layer":96,"n_embd":12288,"n_head":96,"n_positions":2048,
          "vocab_size":50257})");
  EXPECT_EQ(total(read(gpt3)), 174'604'259'328);
  // An empty file of a known class is that class's default shape.
  const auto small = read(json{{"model_type", "gpt2"}});
  EXPECT_EQ(total(small), 124'439'808);
  EXPECT_TRUE(assumes(*small, "n_layer = 12 (class default of GPT2Config)"));
  EXPECT_TRUE(assumes(*small, "n_inner = 3072"));
}

TEST(HfConfig, TakesTheNameFromTheFile) {
  EXPECT_EQ(read(llama())->name, "config.json");
  EXPECT_EQ(read(llama(), {{"_name_or_path", "meta-llama/Llama-3.1-8B"}})->name, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(read(llama())->source.kind, SourceKind::kUser);
}

TEST(HfConfig, ListsEveryClassDefaultItUsed) {
  json config = llama();
  for (const char* field : {"num_key_value_heads", "head_dim", "tie_word_embeddings"}) config.erase(field);
  const auto model = read(config);
  ASSERT_TRUE(model);
  EXPECT_EQ(std::get<Attention>(model->layers[0].mixer).kv_heads, 32);
  EXPECT_TRUE(
      assumes(*model, "num_key_value_heads = 32 (num_attention_heads, class default of LlamaConfig)"));
  EXPECT_TRUE(assumes(*model, "head_dim = 128 (hidden / heads"));
  EXPECT_TRUE(assumes(*model, "tie_word_embeddings = false (class default of LlamaConfig)"));
  EXPECT_EQ(model->assumed.size(), 3U);
}

TEST(HfConfig, AMisspeltFieldIsNoClassDefault) {
  for (const auto& [typed, meant] : {std::pair{"hidden_sise", "hidden_size"},
                                     {"num_hidden_layer", "num_hidden_layers"},
                                     {"num_kev_value_heads", "num_key_value_heads"}}) {
    json config = llama();
    config[typed] = config[meant];
    config.erase(meant);
    const auto model = read(config);
    ASSERT_FALSE(model) << typed;
    EXPECT_EQ(model.error().code, "unknown_name");
    EXPECT_EQ(model.error().nearest, meant);
  }
}

TEST(HfConfig, NullMeansNotGiven) {
  const auto model = read(llama(), {{"num_key_value_heads", nullptr}});
  ASSERT_TRUE(model);
  EXPECT_EQ(std::get<Attention>(model->layers[0].mixer).kv_heads, 32);
  EXPECT_TRUE(assumes(*model, "num_key_value_heads = 32"));
}

TEST(HfConfig, KeyValueHeadsByLayer) {
  json config = llama();
  config["num_hidden_layers"] = 2;
  config["num_key_value_heads"] = {8, 4};
  const auto model = read(config);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(std::get<Attention>(model->layers[0].mixer).kv_heads, 8);
  EXPECT_EQ(std::get<Attention>(model->layers[1].mixer).kv_heads, 4);
  config["num_key_value_heads"] = {8, 4, 2};
  EXPECT_EQ(read(config).error().code, "wrong_length");
  config["num_key_value_heads"] = {8, 0};
  EXPECT_EQ(read(config).error().code, "out_of_range");
  config["num_key_value_heads"] = {8, "4"};
  EXPECT_EQ(read(config).error().where, "config.json: num_key_value_heads");
}

TEST(HfConfig, EntersNestedConfigs) {
  for (const char* name : {"text_config", "llm_config", "language_config"})
    EXPECT_EQ(total(read(json{{"model_type", "some_wrapper"}, {name, llama()}})), 8'030'261'248) << name;
  const json thinker = {{"thinker_config", {{"text_config", llama()}}}};
  EXPECT_EQ(total(read(thinker)), 8'030'261'248);
  json wrong = thinker;
  wrong["thinker_config"]["text_config"]["hidden_size"] = -1;
  EXPECT_EQ(read(wrong).error().where, "config.json: thinker_config.text_config.hidden_size");
}

TEST(HfConfig, FindsTheArchitectureByTypeThenByClass) {
  json config = llama();
  config["model_type"] = "llama_of_my_own";
  EXPECT_EQ(total(read(config)), 8'030'261'248);
  config.erase("model_type");
  EXPECT_EQ(total(read(config)), 8'030'261'248);
}

TEST(HfConfig, AnUnknownArchitectureIsAnErrorWithTheNearest) {
  const auto typo = read(json{{"model_type", "lama"}, {"hidden_size", 1}});
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().code, "unknown_name");
  EXPECT_EQ(typo.error().where, "config.json: model_type");
  EXPECT_EQ(typo.error().nearest, "llama");
  EXPECT_EQ(read(json{{"model_type", "bert"}}).error().code, "unknown_name");
  EXPECT_EQ(read(json::object()).error().code, "missing_field");
  EXPECT_EQ(read(json::array()).error().code, "wrong_type");
  EXPECT_EQ(read(json{{"model_type", 3}, {"architectures", {nullptr}}}).error().code, "missing_field");
}

// A table row that is not JSON, or a name that two rows claim, would otherwise show up as a missing field.
TEST(HfConfig, TheTableOfArchitecturesIsSound) {
  std::vector<std::string> names = architecture_names();
  for (const std::string& name : names) {
    const Architecture* row = architecture_named(name);
    ASSERT_NE(row, nullptr) << name;
    EXPECT_TRUE(json::parse(row->defaults, nullptr, false).is_object()) << name;
    const auto bare = read(json{{"model_type", name}});
    if (!bare) {
      EXPECT_TRUE(bare.error().code == "missing_field" || bare.error().code == "out_of_range") << name;
    }
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(HfConfig, TyingIsReadFromEitherLevel) {
  EXPECT_TRUE(read(llama(), {{"tie_word_embeddings", true}})->tied_embeddings);
  json inner = llama();
  inner.erase("tie_word_embeddings");
  EXPECT_TRUE(read(json{{"text_config", inner}, {"tie_word_embeddings", true}})->tied_embeddings);
  EXPECT_FALSE(read(json{{"text_config", inner}})->tied_embeddings);
  const auto both = read(json{{"text_config", llama()}, {"tie_word_embeddings", true}});
  EXPECT_TRUE(both->tied_embeddings);
  EXPECT_TRUE(assumes(*both, "disagree"));
}

TEST(HfConfig, Falcon180bHasAHeadOfItsOwnWithoutTheFlag) {
  const auto falcon = json::parse(R"({"model_type":"falcon","hidden_size":14848,"num_hidden_layers":80,
                                      "num_attention_heads":232,"num_kv_heads":8,
                                      "new_decoder_architecture":true,"vocab_size":65024,"bias":false})");
  const auto model = read(falcon);
  EXPECT_EQ(total(model), 179'522'565'120);
  EXPECT_TRUE(assumes(*model, "Falcon-180B"));
  EXPECT_EQ(total(read(falcon, {{"tie_word_embeddings", true}})), 179'522'565'120 - 65024LL * 14848);
}

TEST(HfConfig, AFieldUnderTwoNamesIsSaid) {
  const auto model = read(llama(), {{"padded_vocab_size", 128512}});
  ASSERT_TRUE(model);
  EXPECT_EQ(model->vocab, 128256);
  EXPECT_TRUE(assumes(*model, "vocab_size = 128256 (the file also has padded_vocab_size = 128512)"));
}

TEST(HfConfig, WhatNobodyReadIsSaid) {
  EXPECT_TRUE(assumes(*read(llama(), {{"num_experts", 8}}), "not used for LlamaConfig: num_experts = 8"));
  EXPECT_TRUE(assumes(*read(llama(), {{"num_nextn_predict_layers", 2}, {"q_lora_rank", 64}}),
                      "not used for LlamaConfig: q_lora_rank = 64"));
  EXPECT_TRUE(assumes(*read(llama(), {{"q_compress_rank", 64}}), "q_compress_rank = 64")) << "never heard of";
  EXPECT_FALSE(
      assumes(*read(llama(), {{"rope_theta", 1e6}, {"use_cache", true}, {"bos_token_id", 1}}), "not used"));
}

// Quantization ----------------------------------------------------------------------------------------------

Result<Model> quantized(const char* text) {
  return read(llama(), {{"quantization_config", json::parse(text)}});
}

TEST(HfQuantization, MethodsAndWidths) {
  const auto fp8 = quantized(R"({"quant_method":"fp8","fmt":"e4m3","weight_block_size":[128,128]})");
  ASSERT_TRUE(fp8);
  EXPECT_EQ(fp8->quantization.method, "fp8");
  EXPECT_EQ(fp8->quantization.bits, 8);
  EXPECT_EQ(fp8->quantization.group_size, 16384);
  const auto awq = quantized(R"({"quant_method":"awq","bits":4,"group_size":128})");
  EXPECT_EQ(awq->quantization.bits, 4);
  EXPECT_EQ(awq->quantization.group_size, 128);
  EXPECT_EQ(quantized(R"({"quant_method":"gptq","bits":3,"group_size":-1})")->quantization.group_size, 0);
  EXPECT_EQ(quantized(R"({"load_in_4bit":true})")->quantization.method, "bitsandbytes");
  EXPECT_EQ(quantized(R"({"quant_method":"modelopt","quant_algo":"NVFP4","config_groups":{"group_0":
      {"weights":{"num_bits":4,"group_size":16}}}})")
                ->quantization.group_size,
            16);
  EXPECT_EQ(quantized("{}")->quantization.method, "");
  EXPECT_EQ(read(llama(), {{"quantization_config", nullptr}})->quantization.method, "");
}

TEST(HfQuantization, AnUnknownMethodIsNeverFullPrecision) {
  const auto typo = quantized(R"({"quant_method":"nvfp5"})");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().where, "config.json: quantization_config.quant_method");
  EXPECT_EQ(typo.error().nearest, "nvfp4");
  EXPECT_EQ(quantized(R"({"quant_method":"awq"})").error().code, "missing_field");
  EXPECT_FALSE(quantized(R"({"bogus":1})"));
  EXPECT_FALSE(quantized(R"({"quant_method":"gptq","bits":-4})"));
  EXPECT_EQ(read(llama(), {{"quantization_config", "fp8"}}).error().code, "wrong_type");
}

TEST(HfQuantization, PatternsThatAreNotConverted) {
  const auto full = quantized(R"({"quant_method":"fp8","modules_to_not_convert":["lm_head","gate"]})");
  EXPECT_EQ(full->quantization.not_converted, (std::vector<std::string>{"lm_head", "gate"}));
  const auto ignored = quantized(R"({"quant_method":"compressed-tensors","ignore":["lm_head"],"config_groups":
      {"group_0":{"weights":{"num_bits":4,"group_size":32}}}})");
  EXPECT_EQ(ignored->quantization.not_converted, std::vector<std::string>{"lm_head"});
  const auto trimmed = quantized(
      R"({"quant_method":"fp8","modules_to_not_convert_first":["lm_head"],
          "modules_to_not_convert_count":63})");
  EXPECT_EQ(trimmed->quantization.not_converted, std::vector<std::string>{"lm_head"});
  EXPECT_TRUE(assumes(*trimmed, "1 of 63 names"));
}

TEST(HfQuantization, WidthsOfRoutedExpertsOfTheirOwn) {
  const char* mixed = R"({"quant_method":"fp8","quant_algo":"MIXED_PRECISION","moe_quant_algo":"NVFP4",
      "config_groups":{"group_0":{"weights":{"num_bits":4}}},"quantized_layers":{}})";
  const auto model = quantized(mixed);
  EXPECT_EQ(model->quantization.bits, 8);
  EXPECT_EQ(model->quantization.expert_bits, 4);
  EXPECT_TRUE(assumes(*model, "several widths: 8 bits taken, 4 for routed experts"));
  const auto by_dtype =
      read(llama(), {{"quantization_config", {{"quant_method", "fp8"}}}, {"expert_dtype", "fp4"}});
  EXPECT_EQ(by_dtype->quantization.expert_bits, 4);
}

// Extras ----------------------------------------------------------------------------------------------------

TEST(HfExtras, ATowerOfUnknownStructureIsNamedAndCountsNothing) {
  const auto model = read(json{{"text_config", llama()}, {"vision_config", {{"model_type", "new_tower"}}}});
  ASSERT_TRUE(model);
  ASSERT_EQ(model->extras.size(), 1U);
  EXPECT_EQ(model->extras[0].name, "vision_tower");
  EXPECT_EQ(model->extras[0].parameters, 0);
  EXPECT_TRUE(assumes(*model, "vision_tower: parameters of \"new_tower\" are not known here"));
}

TEST(HfExtras, MultiTokenPredictionIsNotInTheTotal) {
  // DeepSeek-V3: 671.0e9 without the module, 684.5e9 with it (its embedding and head are copies).
  const auto v3 = read(json{{"model_type", "deepseek_v3"}, {"num_nextn_predict_layers", 1}});
  ASSERT_TRUE(v3);
  EXPECT_EQ(count_parameters(*v3).total, 671'026'419'200);
  EXPECT_EQ(v3->mtp_layers, 1);
  ASSERT_EQ(v3->extras.size(), 1U);
  EXPECT_EQ(v3->extras[0].parameters, 684'489'845'504 - 671'026'419'200);
  EXPECT_EQ(v3->extras[0].unique_parameters, v3->extras[0].parameters - 2LL * 129280 * 7168);
  const auto off = read(json{{"model_type", "minimax_m2"}, {"use_mtp", false}, {"num_mtp_modules", 3}});
  ASSERT_TRUE(off);
  EXPECT_TRUE(off->extras.empty());
}

TEST(HfExtras, NemotronSpellsItsPredictionLayersAsAListOrAPattern) {
  const json base = {{"model_type", "nemotron_h"},
                     {"hybrid_override_pattern", "M*E"},
                     {"num_hidden_layers", 3},
                     {"num_nextn_predict_layers", 1}};
  const auto list = read(base, {{"mtp_layers_block_type", {"attention", "moe"}}});
  const auto pattern = read(base, {{"mtp_hybrid_override_pattern", "*E"}});
  ASSERT_TRUE(list && pattern);
  EXPECT_GT(list->extras.at(0).parameters, 0);
  EXPECT_EQ(list->extras.at(0).parameters, pattern->extras.at(0).parameters);
  EXPECT_EQ(read(base, {{"mtp_hybrid_override_pattern", "-"}}).error().code, "unsupported");
  EXPECT_TRUE(assumes(*read(base), "mtp_hybrid_override_pattern is missing"));
}

// Layers of several kinds -----------------------------------------------------------------------------------

TEST(HfLayers, WindowsFollowTheRuleOfTheClass) {
  const auto windows = [](const Result<Model>& model) {
    std::vector<std::int64_t> out;
    for (const Layer& layer : model->layers) out.push_back(std::get<Attention>(layer.mixer).window);
    return out;
  };
  using List = std::vector<std::int64_t>;
  const json gemma3 = {{"model_type", "gemma3_text"}, {"num_hidden_layers", 7}, {"sliding_window", 8}};
  EXPECT_EQ(windows(read(gemma3)), (List{8, 8, 8, 8, 8, 0, 8}));
  EXPECT_EQ(windows(read(gemma3, {{"sliding_window_pattern", 2}})), (List{8, 0, 8, 0, 8, 0, 8}));
  EXPECT_EQ(windows(read(gemma3, {{"num_hidden_layers", 2},
                                  {"layer_types", {"full_attention", "sliding_attention"}}})),
            (List{0, 8}));
  const json qwen2 = {
      {"model_type", "qwen2"}, {"num_hidden_layers", 3}, {"sliding_window", 8}, {"max_window_layers", 2}};
  EXPECT_EQ(windows(read(qwen2)), (List{0, 0, 0}));
  EXPECT_EQ(windows(read(qwen2, {{"use_sliding_window", true}})), (List{0, 0, 8}));
}

TEST(HfLayers, ExpertsStandWhereTheClassPutsThem) {
  const auto sparse = [](const Result<Model>& model) {
    if (!model) return model.error().message;
    std::string out;
    for (const Layer& layer : model->layers) out += std::holds_alternative<MoeMlp>(layer.mlp) ? 'E' : 'd';
    return out;
  };
  EXPECT_EQ(sparse(read(json{{"model_type", "deepseek_v3"}, {"num_hidden_layers", 5}})), "dddEE");
  EXPECT_EQ(sparse(read(json{
                {"model_type", "llama4_text"}, {"num_hidden_layers", 4}, {"interleave_moe_layer_step", 2}})),
            "dEdE");
  EXPECT_EQ(
      sparse(read(json{{"model_type", "qwen3_moe"}, {"num_hidden_layers", 3}, {"mlp_only_layers", {1}}})),
      "EdE");
  EXPECT_EQ(sparse(read(json{{"model_type", "glm4_moe"},
                             {"head_dim", 128},
                             {"num_hidden_layers", 3},
                             {"mlp_layer_types", {"dense", "sparse", "dense"}}})),
            "dEd");
  EXPECT_EQ(sparse(read(json{{"model_type", "jamba"}, {"num_hidden_layers", 4}})), "dEdE");
}

// Errors ----------------------------------------------------------------------------------------------------

struct Damage {
  const char* field;
  json value;
  const char* code;
};

TEST(HfErrors, NameTheFieldAndWhatWasExpected) {
  const Damage cases[] = {
      {"hidden_size", 0, "out_of_range"},
      {"hidden_size", -4096, "out_of_range"},
      {"hidden_size", 4096.5, "wrong_type"},
      {"hidden_size", "4096", "wrong_type"},
      {"hidden_size", json::array({4096}), "wrong_type"},
      {"hidden_size", std::numeric_limits<double>::infinity(), "wrong_type"},
      {"hidden_size", {{"__float__", "Infinity"}}, "wrong_type"},
      {"hidden_size", 9.3e18, "wrong_type"},
      {"hidden_size", UINT64_MAX, "wrong_type"},
      {"hidden_size", INT64_MAX, "out_of_range"},
      {"hidden_size", 4097, "out_of_range"},
      {"num_hidden_layers", 1'000'000'000, "out_of_range"},
      {"num_hidden_layers", true, "wrong_type"},
      {"num_attention_heads", 0, "out_of_range"},
      {"num_key_value_heads", 5, "out_of_range"},
      {"num_key_value_heads", 64, "out_of_range"},
      {"intermediate_size", 0, "out_of_range"},
      {"intermediate_size", json::array({1, 2}), "wrong_length"},
      {"vocab_size", -1, "out_of_range"},
      {"attention_bias", "yes", "wrong_type"},
      {"torch_dtype", 16, "wrong_type"},
  };
  for (const Damage& damage : cases) {
    json config = llama();
    config.erase("head_dim");
    config[damage.field] = damage.value;
    // The dump of Infinity is null, so what Python writes is put back by hand.
    std::string text = config.dump();
    if (damage.value.is_number_float() && damage.value.get<double>() > 1e300)
      text.replace(text.find("\"hidden_size\":null"), 18, "\"hidden_size\":Infinity");
    const auto model = import_hf_config(text, "config.json");
    SCOPED_TRACE(std::string(damage.field) + " = " + damage.value.dump());
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, damage.code) << model.error().message;
    EXPECT_TRUE(model.error().where.starts_with("config.json: ")) << model.error().where;
    EXPECT_FALSE(model.error().expected.empty());
  }
}

TEST(HfErrors, HeadsThatDoNotDivide) {
  json config = llama();
  config.erase("head_dim");
  config["num_attention_heads"] = 24;
  const auto model = read(config);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message, "24 heads do not divide hidden size 4096");
  EXPECT_EQ(model.error().where, "config.json: num_attention_heads");
  // With a head_dim of its own the same number is right.
  config["head_dim"] = 128;
  EXPECT_TRUE(read(config));
}

TEST(HfErrors, ExpertsThatCannotBe) {
  EXPECT_TRUE(read(mixtral()));
  EXPECT_EQ(read(mixtral(), {{"num_experts_per_tok", 9}}).error().code, "out_of_range");
  EXPECT_EQ(read(mixtral(), {{"num_experts_per_tok", 0}}).error().code, "out_of_range");
  EXPECT_EQ(read(mixtral(), {{"num_local_experts", -1}}).error().where, "config.json: num_local_experts");
  EXPECT_EQ(read(mixtral(), {{"num_local_experts", 2'000'000}}).error().code, "out_of_range");
}

TEST(HfErrors, AFieldWithoutDefaultIsMissing) {
  const auto model = read(json{{"model_type", "baichuan"}, {"hidden_size", 4096}});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "missing_field");
  EXPECT_EQ(model.error().where, "config.json: num_hidden_layers");
}

TEST(HfErrors, AShapeBeyondCountingIsRefused) {
  json config = mixtral();
  config.update({{"hidden_size", 1'000'000},
                 {"head_dim", 1'000'000},
                 {"num_attention_heads", 100'000},
                 {"num_key_value_heads", 100'000},
                 {"num_local_experts", 1'000'000},
                 {"num_hidden_layers", 10'000},
                 {"intermediate_size", 10'000'000}});
  const auto model = read(config);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "out_of_range");
}

TEST(HfErrors, InfinityThatBearsOnNothingIsAccepted) {
  std::string text = llama().dump();
  text.insert(1, R"("time_step_limit":[0.0,Infinity],"other":{"__float__":"Infinity"},)");
  EXPECT_EQ(total(import_hf_config(text, "config.json")), 8'030'261'248);
}

TEST(HfErrors, TextsThatAreNoJson) {
  for (const char* text :
       {"", "{", "null", "[]", "3", "\"model_type\"", "{\"model_type\":", "\xff\xfe", "{} {}"})
    EXPECT_FALSE(import_hf_config(text, "config.json")) << text;
}

}  // namespace
}  // namespace shardplan
