// A catalog small enough to read, for the unit tests of import/. Its numbers are round and prove nothing.
//
//   find_device(test_catalog(), "h100", "--gpu");
//   auto texts = test_catalog_texts(); texts["devices"] = "{"; load_catalog(as_files(texts));   // an error
//
// Not here: the real data (catalog/*.json; catalog_embedded_test.cpp reads it).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/catalog.h"

namespace shardplan {

using CatalogTexts = std::map<std::string, std::string>;

inline std::string test_device(const std::string& name, const std::string& aliases,
                               const std::string& memory_sold, const std::string& memory_reported, int domain,
                               const std::string& fabric, int node) {
  const auto number = [](const std::string& v) { return R"({"value":)" + v + R"(,"source":"sheet"})"; };
  return R"({"name":")" + name + R"(","aliases":)" + aliases + R"(,"vendor":"v","architecture":"a",
    "memory_sold_bytes":)" +
         number(memory_sold) + R"(,"memory_reported_bytes":)" + number(memory_reported) +
         R"(,"memory_bandwidth_bytes_per_s":)" + number("3e12") + R"(,"peak_flops":{"bf16":)" +
         number("1e15") + R"(},"scale_up":{"kind":"switch","domain_size":)" + number(std::to_string(domain)) +
         R"(,"bandwidth_bytes_per_s":)" + number("450e9") + R"(,"achieved_bandwidth_bytes_per_s":)" +
         number("360e9") + R"(,"latency_s":)" + number("2e-6") + R"(},"efficiency":{"gemm":{"bf16":)" +
         number("0.7") + R"(},"gemm_k_half":{"bf16":)" + number("200") + R"(},"attention":)" + number("0.6") +
         R"(,"memory":)" + number("0.8") + R"(,"kernel_launch_s":)" + number("5e-6") + R"(,"contention":)" +
         number("0.4") + R"(},"usual_fabric":")" + fabric + R"(","usual_gpus_per_node":)" +
         std::to_string(node) + "}";
}

inline std::string test_framework(const std::string& name, const std::string& stages,
                                  const std::string& sharded) {
  std::string optimizers;
  for (int i = 0; i < kOptimizerCount; ++i) {
    optimizers += std::string(i == 0 ? "" : ",") + "\"" + shardplan::name(static_cast<Optimizer>(i)) +
                  R"(":{"value":8,"source":"sheet"})";
  }
  const std::string two = R"({"value":2,"source":"sheet"})";
  return R"({"name":")" + name + R"(","description":"d","weight_bytes":)" + two + R"(,"gradient_bytes":)" +
         two + R"(,"master_bytes":)" + two + R"(,"optimizers":{)" + optimizers + R"(},"zero_stages":)" +
         stages + R"(,"sharded":)" + sharded + "}";
}

inline CatalogTexts test_catalog_texts() {
  CatalogTexts texts;
  texts["sources"] =
      R"({"sources":{"sheet":{"kind":"datasheet","title":"Sheet","ref":"p. 1","date":"2024-01"},
    "fit":{"kind":"fitted","title":"Fit","ref":"table 2","date":"2025-01"}}})";
  texts["fabrics"] = R"({"fabrics":[
    {"name":"ib-ndr-400","aliases":["NDR"],"description":"d","bandwidth_bytes_per_s":{"value":50e9,"source":"sheet"},
     "efficiency":{"value":0.8,"source":"fit","note":"n"},"latency_s":{"value":6e-6,"source":"fit"}},
    {"name":"course-ib","aliases":[],"description":"d","bandwidth_bytes_per_s":{"value":50e9,"source":"sheet"},
     "efficiency":{"value":1,"source":"sheet"},"latency_s":{"value":15e-6,"source":"sheet"}}]})";
  texts["devices"] =
      R"({"devices":[)" +
      test_device("h100-sxm", R"(["H100","H100-SXM-80GB"])", "85899345920", "85018877624", 8, "ib-ndr-400",
                  8) +
      "," + test_device("gb200", R"(["GB200-NVL72"])", "199715979264", "197901355581", 72, "ib-ndr-400", 4) +
      "," + test_device("lonely", "[]", "85899345920", "85018877624", 1, "", 1) + "," +
      test_device("course-192gb", R"(["course"])", "206158430208", "206158430208", 8, "course-ib", 8) + "]}";
  texts["clusters"] = R"({"clusters":[
    {"name":"course-64","source":"sheet","aliases":[],"description":"d","device":"course-192gb","gpus":64,"tiers":[
      {"name":"node","size":8,"fabric":"scale_up"},{"name":"network","fabric":"course-ib"}]},
    {"name":"pods","source":"sheet","aliases":["three-tier"],"description":"d","device":"h100-sxm","gpus":1024,"tiers":[
      {"name":"node","size":8,"fabric":"scale_up"},{"name":"pod","size":256,"fabric":"ib-ndr-400"},
      {"name":"spine","size":2048,"fabric":"NDR","oversubscription":{"value":4,"source":"sheet"}}]}]})";
  texts["frameworks"] =
      R"({"allocator":{"slack":{"value":0.05,"source":"sheet"},"context_bytes":{"value":1,"source":"sheet"},)"
      R"("expandable_slack":{"value":0.03,"source":"sheet"},"communication_bytes":{"value":1,"source":"sheet"}},)"
      R"("library_workspaces":{"before_hopper_bytes":{"value":1,"source":"sheet"},)"
      R"("since_hopper_bytes":{"value":1,"source":"sheet"}},)"
      R"("host":{"adam_parameters_per_s":{"value":1e9,"source":"sheet"}},"quantized_bases":[{"name":"nf4",)"
      R"("bits":{"value":4,"source":"sheet"},"block":{"value":64,"source":"sheet"},)"
      R"("scale_bits":{"value":32,"source":"sheet"}}],"frameworks":[)" +
      test_framework(
          "generic", "[0,1,2,3]",
          R"({"1":["optimizer"],"2":["gradients","optimizer"],"3":["weights","gradients","optimizer"]})") +
      "," + test_framework("nanotron", "[0,1]", R"({"1":["optimizer"]})") + "]}";
  texts["models"] = R"({"models":[{"name":"llama3-8b","aliases":["meta-llama/Llama-3.1-8B"],
    "source":{"kind":"published","title":"t","ref":"r","date":"2024-07"},
    "config":{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,
      "intermediate_size":14336,"max_position_embeddings":131072,"num_attention_heads":32,"num_hidden_layers":32,
      "num_key_value_heads":8,"tie_word_embeddings":false,"torch_dtype":"bfloat16","vocab_size":128256,
      "hidden_act":"silu","rms_norm_eps":1e-05}}]})";
  return texts;
}

/// Views into `texts`, which must outlive them.
inline std::vector<EmbeddedFile> as_files(const CatalogTexts& texts) {
  std::vector<EmbeddedFile> files;
  for (const auto& [name, text] : texts) files.push_back({name.c_str(), text.c_str()});
  return files;
}

inline const Catalog& test_catalog() {
  static const CatalogTexts texts = test_catalog_texts();
  static const Result<Catalog> loaded = load_catalog(as_files(texts));
  return loaded.value();
}

}  // namespace shardplan
