#include "import/hf_extras.h"

#include <fmt/format.h>

#include <algorithm>

#include "catalog/saturating.h"
#include "import/json_text.h"

namespace shardplan {

using nlohmann::json;

namespace {

struct Method {
  const char* name;
  double bits;              // of one weight; 0 = the config says
  std::int64_t group_size;  // 0 = none, or the config says
};
constexpr Method kMethods[] = {
    {"fp8", 8, 0},          {"fbgemm_fp8", 8, 0},    {"mxfp4", 4, 32},
    {"awq", 0, 0},          {"gptq", 0, 0},          {"compressed-tensors", 0, 0},
    {"modelopt", 0, 0},     {"modelopt_fp4", 4, 16}, {"nvfp4", 4, 16},
    {"bitsandbytes", 0, 0}, {"aqlm", 2, 0},          {"hqq", 0, 0},
    {"eetq", 8, 0},         {"auto-round", 0, 0},    {"intel/auto-round", 0, 0},
    {"quark", 0, 0},
};

/// A number anywhere it is usual: the object itself, or the weights of its first config group.
std::optional<std::int64_t> quantization_number(const json& object,
                                                std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto it = object.find(name); it != object.end())
      if (const auto number = whole_number(*it)) return number;
  const auto groups = object.find("config_groups");
  if (groups == object.end() || !groups->is_object() || groups->empty()) return std::nullopt;
  const json& first = groups->begin().value();
  if (!first.is_object() || !first.contains("weights") || !first["weights"].is_object()) return std::nullopt;
  return quantization_number(first["weights"], names);
}

bool is_true(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_boolean() && it->get<bool>();
}

/// "NVFP4" is 4, "FP8" and "W8A8" are 8; 0 for what names no width ("MIXED_PRECISION").
double bits_of_algorithm(const json& object, const char* field) {
  const auto it = object.find(field);
  const std::string algorithm =
      it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
  if (algorithm.find("FP4") != std::string::npos || algorithm.starts_with("W4")) return 4;
  if (algorithm.find("FP8") != std::string::npos || algorithm.find("INT8") != std::string::npos ||
      algorithm.starts_with("W8"))
    return 8;
  return 0;
}

double stated_bits(const json& object) {
  if (const auto bits = quantization_number(object, {"num_bits", "bits", "w_bit", "nbits"}))
    return static_cast<double>(*bits);
  if (is_true(object, "load_in_4bit") || is_true(object, "_load_in_4bit")) return 4;
  if (is_true(object, "load_in_8bit") || is_true(object, "_load_in_8bit")) return 8;
  return bits_of_algorithm(object, "quant_algo");
}

std::int64_t stated_group(const json& object, std::int64_t usual) {
  const auto block = object.find("weight_block_size");
  if (block != object.end() && block->is_array() && block->size() == 2) {
    const auto rows = whole_number((*block)[0]), columns = whole_number((*block)[1]);
    if (rows && columns && *rows > 0 && *columns > 0) return product(*rows, *columns);
  }
  const auto group = quantization_number(object, {"group_size", "q_group_size"});
  return group && *group > 0 ? *group : usual;
}

/// Patterns under any of the names in use; trimmed copies keep the first few and a count.
void read_not_converted(ConfigReader& r, const json& object, Quantization& out) {
  for (const char* base :
       {"modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules"}) {
    const std::string name = base;
    for (const std::string& key : {name, name + "_first"}) {
      const auto listed = object.find(key);
      if (listed == object.end() || !listed->is_array()) continue;
      for (const json& pattern : *listed)
        if (pattern.is_string()) out.not_converted.push_back(pattern.get<std::string>());
    }
    const auto count = object.find(name + "_count");
    const auto number = count == object.end() ? std::nullopt : whole_number(*count);
    if (number && *number > static_cast<std::int64_t>(out.not_converted.size()))
      r.assume(fmt::format("quantization_config.{}: {} of {} names are in the file", base,
                           out.not_converted.size(), *number));
  }
}

/// The width of routed experts where the config gives them one of their own: for all ("moe_quant_algo"), in a
/// config group that targets them, or layer by layer.
double stated_expert_bits(const json& object) {
  if (const double bits = bits_of_algorithm(object, "moe_quant_algo"); bits > 0) return bits;
  const auto names_experts = [](const std::string& text) {
    return text.find("experts") != std::string::npos && text.find("shared_expert") == std::string::npos;
  };
  if (const auto groups = object.find("config_groups"); groups != object.end() && groups->is_object())
    for (const auto& [name, group] : groups->items()) {
      const bool has_targets = group.is_object() && group.contains("targets") && group["targets"].is_array();
      for (const json& target : has_targets ? group["targets"] : json::array())
        if (target.is_string() && names_experts(target.get<std::string>()) && group.contains("weights") &&
            group["weights"].is_object())
          return static_cast<double>(quantization_number(group["weights"], {"num_bits"}).value_or(0));
    }
  if (const auto layers = object.find("quantized_layers"); layers != object.end() && layers->is_object())
    for (const auto& [name, layer] : layers->items())
      if (names_experts(name) && layer.is_object()) return bits_of_algorithm(layer, "quant_algo");
  return 0;
}

/// More than one width in one checkpoint is said, whatever was taken.
void note_mixed(ConfigReader& r, const json& object, const Quantization& out) {
  const auto groups = object.find("config_groups");
  const bool several = groups != object.end() && groups->is_object() && groups->size() > 1;
  if (!several && !object.contains("quantized_layers")) return;
  r.assume(fmt::format("quantization_config has several widths: {} bits taken, {} for routed experts",
                       out.bits, out.expert_bits > 0 ? out.expert_bits : out.bits));
}

std::int64_t layer_norm(std::int64_t width) { return product(2, width); }
std::int64_t linear(std::int64_t in, std::int64_t out) { return sum(product(in, out), out); }

/// SigLIP with Gemma 3's projector (a matrix and a norm); no pooling head.
std::int64_t siglip(ConfigReader& v, std::int64_t text_hidden) {
  const std::int64_t h = v.integer({"hidden_size"}, kWidthMax),
                     width = v.integer({"intermediate_size"}, kMlpWidthMax);
  const std::int64_t patch = v.integer({"patch_size"}, kWidthMax),
                     side = v.integer({"image_size"}, kWidthMax) / patch;
  const std::int64_t channels = v.optional_integer({"num_channels"}, kWidthMax).value_or(3);
  const std::int64_t layer =
      sum(product(2, layer_norm(h)), product(4, linear(h, h)), sum(linear(h, width), linear(width, h)));
  const std::int64_t edges =
      sum(linear(product(channels, patch, patch), h), product(side, side, h), layer_norm(h));
  return sum(product(v.integer({"num_hidden_layers"}, kLayersMax), layer), edges,
             sum(product(h, text_hidden), h));
}

/// Qwen3-VL and Qwen3.5: blocks, a merger of 2 x 2 patches and one more for each deepstack layer.
std::int64_t qwen3_vl(ConfigReader& v) {
  const std::int64_t h = v.integer({"hidden_size"}, kWidthMax),
                     width = v.integer({"intermediate_size"}, kMlpWidthMax);
  const std::int64_t patch = v.integer({"patch_size"}, kWidthMax),
                     merge = v.integer({"spatial_merge_size"}, kHeadsMax);
  const std::int64_t voxels = product(v.optional_integer({"in_channels"}, kWidthMax).value_or(3),
                                      v.integer({"temporal_patch_size"}, kWidthMax), product(patch, patch));
  const std::int64_t merged = product(h, merge, merge), out = v.integer({"out_hidden_size"}, kWidthMax);
  const std::int64_t block = sum(product(2, layer_norm(h)), linear(h, product(3, h)), linear(h, h),
                                 sum(linear(h, width), linear(width, h)));
  const std::int64_t projector = sum(linear(merged, merged), linear(merged, out));
  const json* deepstack = v.list({"deepstack_visual_indexes"});
  const std::int64_t deep = deepstack != nullptr ? static_cast<std::int64_t>(deepstack->size()) : 0;
  const std::int64_t edges =
      sum(linear(voxels, h), product(v.integer({"num_position_embeddings"}, kVocabularyMax), h),
          sum(layer_norm(h), projector));
  return sum(product(v.integer({"depth"}, kLayersMax), block), edges,
             product(deep, sum(layer_norm(merged), projector)));
}

/// MoonViT of Kimi-VL: SigLIP's layers, a square table of positions, and a norm with two matrices that join 2
/// x 2 patches.
std::int64_t moonvit(ConfigReader& v, std::int64_t text_hidden) {
  const std::int64_t h = v.integer({"hidden_size"}, kWidthMax),
                     width = v.integer({"intermediate_size"}, kMlpWidthMax);
  const std::int64_t patch = v.integer({"patch_size"}, kWidthMax);
  constexpr std::int64_t kChannels = 3, kMerged = 4, kUsualPositions = 64;
  const std::int64_t rows = v.optional_integer({"init_pos_emb_height"}, kWidthMax).value_or(kUsualPositions);
  const std::int64_t columns =
      v.optional_integer({"init_pos_emb_width"}, kWidthMax).value_or(kUsualPositions);
  const std::int64_t layer =
      sum(product(2, layer_norm(h)), product(4, linear(h, h)), sum(linear(h, width), linear(width, h)));
  const std::int64_t merged = product(kMerged, h);
  const std::int64_t projector = sum(layer_norm(h), linear(merged, merged), linear(merged, text_hidden));
  return sum(product(v.integer({"num_hidden_layers"}, kLayersMax), layer),
             linear(product(kChannels, patch, patch), h), product(rows, columns, h),
             sum(layer_norm(h), projector));
}

/// Qwen2.5-VL: gated blocks with RMS norms.
std::int64_t qwen2_5_vl(ConfigReader& v) {
  const std::int64_t h = v.integer({"hidden_size"}, kWidthMax),
                     width = v.integer({"intermediate_size"}, kMlpWidthMax);
  const std::int64_t patch = v.integer({"patch_size"}, kWidthMax),
                     merge = v.integer({"spatial_merge_size"}, kHeadsMax);
  const std::int64_t voxels = product(v.optional_integer({"in_channels", "in_chans"}, kWidthMax).value_or(3),
                                      v.integer({"temporal_patch_size"}, kWidthMax), product(patch, patch));
  const std::int64_t merged = product(h, merge, merge), out = v.integer({"out_hidden_size"}, kWidthMax);
  const std::int64_t block = sum(product(2, h), linear(h, product(3, h)), linear(h, h),
                                 sum(product(2, linear(h, width)), linear(width, h)));
  return sum(product(v.integer({"depth"}, kLayersMax), block), sum(product(voxels, h), h),
             sum(linear(merged, merged), linear(merged, out)));
}

/// Gemma 4: four norms, per-head norms of query and key, gated MLP, two tables of positions, one projection
/// to the text.
std::int64_t gemma4_vision(ConfigReader& v, std::int64_t text_hidden) {
  const std::int64_t h = v.integer({"hidden_size"}, kWidthMax),
                     width = v.integer({"intermediate_size"}, kMlpWidthMax);
  const std::int64_t dim = v.integer({"head_dim"}, kWidthMax),
                     heads = v.integer({"num_attention_heads"}, kHeadsMax);
  const std::int64_t kv = v.integer({"num_key_value_heads"}, kHeadsMax),
                     patch = v.integer({"patch_size"}, kWidthMax);
  const std::int64_t attention = sum(product(2, h, heads, dim), product(2, h, kv, dim), product(2, dim));
  const std::int64_t layer = sum(attention, product(3, h, width), product(4, h));
  const std::int64_t edges =
      sum(product(3, patch, patch, h), product(2, v.integer({"position_embedding_size"}, kVocabularyMax), h));
  return sum(product(v.integer({"num_hidden_layers"}, kLayersMax), layer), edges, product(h, text_hidden));
}

std::optional<std::int64_t> tower_parameters(ConfigReader& v, const std::string& type,
                                             std::int64_t text_hidden) {
  if (type == "siglip_vision_model" && !v.flag({"vision_use_head"})) return siglip(v, text_hidden);
  if (type.starts_with("qwen3_vl") || type.starts_with("qwen3_5")) return qwen3_vl(v);
  if (type.starts_with("qwen2_5_vl")) return qwen2_5_vl(v);
  if (type == "moonvit") return moonvit(v, text_hidden);
  if (type == "gemma4_vision") return gemma4_vision(v, text_hidden);
  return std::nullopt;
}

void add_tower(ConfigReader& r, const char* field, const char* extra, Model& model) {
  const json* object = r.object({field});
  if (object == nullptr) return;
  const json none = json::object();
  std::vector<std::string> ignored;
  const std::string file = r.where("").substr(0, r.where("").rfind(": "));
  ConfigReader v(*object, {file, r.path() + field + ".", "the vision tower"}, none, ignored);
  std::string type = v.text({"model_type"});
  // Outer types that leave their vision_config's type out.
  if (type.empty()) type = r.text({"model_type"});
  const auto count = v.failed() ? std::nullopt : tower_parameters(v, type, model.hidden);
  if (count && !v.failed() && *count < kCountMax) {
    model.extras.push_back({extra, *count, *count});
    return;
  }
  model.extras.push_back({extra, 0, 0});
  r.assume(fmt::format("{}: parameters of {} are not known here, counted as 0", extra,
                       type.empty() ? std::string(field) : shown(json(type))));
}

}  // namespace

Quantization read_quantization(ConfigReader& r) {
  Quantization out;
  const json* object = r.object({"quantization_config", "compression_config"});
  if (object == nullptr || object->empty()) return out;
  const auto stated = object->find("quant_method");
  if (stated != object->end() && stated->is_string()) out.method = stated->get<std::string>();
  if (out.method.empty() && object->contains("quant_algo")) out.method = "modelopt";
  if (out.method.empty() && stated_bits(*object) > 0) out.method = "bitsandbytes";
  const auto* method = std::find_if(std::begin(kMethods), std::end(kMethods),
                                    [&](const Method& m) { return out.method == m.name; });
  if (method == std::end(kMethods)) {
    std::vector<std::string> names;
    for (const Method& m : kMethods) names.emplace_back(m.name);
    r.fail_with({"unknown_name", fmt::format("quant_method is {}", shown(json(out.method))),
                 r.where("quantization_config.quant_method"),
                 fmt::format("one of {}", fmt::join(names, ", ")), nearest_name(out.method, names)});
    return out;
  }
  const double bits = stated_bits(*object);
  out.bits = method->bits > 0 ? method->bits : bits;
  out.group_size = stated_group(*object, method->group_size);
  if (out.bits <= 0 || out.bits > 32)
    r.fail("missing_field", "quantization_config",
           fmt::format("quantization {} without a bit width", out.method), "bits, num_bits or quant_algo");
  read_not_converted(r, *object, out);
  const double expert_bits = r.text({"expert_dtype"}) == "fp4" ? 4 : stated_expert_bits(*object);
  if (expert_bits != out.bits && expert_bits > 0 && expert_bits <= 32) out.expert_bits = expert_bits;
  note_mixed(r, *object, out);
  return out;
}

void add_towers(ConfigReader& r, Model& model) {
  add_tower(r, "vision_config", "vision_tower", model);
  add_tower(r, "audio_config", "audio_tower", model);
}

}  // namespace shardplan
