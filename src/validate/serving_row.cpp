#include "validate/serving_row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <regex>
#include <utility>

#include "catalog/serve_format.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kMilli = 1e-3;
constexpr std::size_t kHeaderLines = 2;  // the header, and lines count from 1
constexpr double kByteBits = 8;
// "lengths uniform in [0.8, 1.0]x" of those that are printed.
constexpr double kMeanOfUniform = 0.9;

Error skip(const std::string& reason) { return {"skipped", reason, "", "", ""}; }

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// "org/Name-Instruct-FP8 a remark" by what is left when owner, remark and suffixes are taken away one by
/// one.
const ModelEntry* model_of(std::string name, const Catalog& catalog) {
  // A hub id is known without its owner too.
  const auto found = [&](const std::string& text) -> const ModelEntry* {
    if (const auto entry = find_model(catalog, text, "")) return *entry;
    const std::string tail = "/" + name_key(text);
    for (const ModelEntry& entry : catalog.models) {
      for (const std::string& alias : entry.aliases)
        if (ends_with(name_key(alias), tail)) return &entry;
    }
    return nullptr;
  };
  name = name.substr(0, name.find(' '));
  for (;;) {
    if (const ModelEntry* entry = found(name)) return entry;
    const std::size_t slash = name.find('/');
    if (slash != std::string::npos) {
      if (const ModelEntry* entry = found(name.substr(slash + 1))) return entry;
    }
    const std::string key = name_key(name);
    bool shorter = false;
    for (const char* suffix : {"-fp8", "-nvfp4", "-fp4", "-mxfp4", "-awq", "-gptq", "-instruct", "-chat"}) {
      if (!ends_with(key, suffix)) continue;
      name.resize(name.size() - std::string(suffix).size());
      shorter = true;
      break;
    }
    if (!shorter) return nullptr;
  }
}

class Reading {
 public:
  Reading(const CsvRow& row, const Catalog& catalog) : row_(row), catalog_(catalog) {}

  Result<ServingRow> run() {
    out_.id = serving_row_id(row_);
    out_.citation = row_["source"];
    take_model();
    take_device();
    take_engine();
    take_split();
    take_load();
    take_format();
    take_measured();
    if (!reason_.empty()) return skip(reason_);
    return out_;
  }

  Result<StartUp> start_up() {
    StartUp start;
    start.id = serving_row_id(row_);
    take_model();
    std::string engine = row_["engine"];
    const auto memory = find_serving_memory(catalog_, engine, "");
    if (!memory) fail("no serving engine \"" + engine + "\"");
    out_.split.tensor = degree("tp");
    out_.split.pipeline = degree("pp");
    take_format();
    if (!reason_.empty()) return skip(reason_);
    start.engine = *memory;
    start.model = std::move(out_.model);
    start.split = out_.split;
    start.format = out_.format;
    start.format_told =
        !row_["precision"].empty() && !row_["tp"].empty() && row_["precision"].find('?') == std::string::npos;
    start.assumed = std::move(out_.assumed);
    return start;
  }

 private:
  void fail(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
  }
  void assume(const std::string& text) { out_.assumed.push_back(text); }

  std::optional<double> number(const char* column) {
    const std::string& text = row_[column];
    if (text.empty()) return std::nullopt;
    const auto value = parse_number(text);
    if (!value) fail(std::string(column) + " is \"" + text + "\", not a number");
    return value;
  }
  std::int64_t degree(const char* column) {
    const double value = number(column).value_or(1);
    return value < 1 ? 1 : static_cast<std::int64_t>(value);
  }

  void take_model() {
    const ModelEntry* entry = model_of(row_["model"], catalog_);
    if (entry == nullptr) return fail("no shape is known of \"" + row_["model"] + "\"");
    Result<Model> model = entry->model();
    if (!model) return fail(model.error().message);
    out_.model = std::move(model).value();
    for (const Layer& layer : out_.model.layers) {
      if (const auto* other = std::get_if<OtherMixer>(&layer.mixer))
        return fail("attention of kind " + other->kind + " is not modelled");
    }
  }

  void take_device() {
    std::string name = row_["gpu"];
    const auto exact = find_device(catalog_, name, "");
    const auto family = exact ? exact : find_device(catalog_, name.substr(0, name.find("_sxm")), "");
    if (!family) return fail("no GPU named \"" + name + "\" in the catalog");
    out_.device = *family;
  }

  void take_engine() {
    std::string key = name_key(row_["engine"]);
    if (key == "tensorrt-llm" || key == "trt-llm") key = "trtllm";
    const auto engine = find_serving_time(catalog_, key, "");
    if (!engine) return fail("no serving engine \"" + row_["engine"] + "\"");
    out_.engine = *engine;
  }

  /// Of a disaggregated run the replicas that decode: "decode 11x(bs48 tp1 dp1 ep1)".
  void take_split() {
    out_.disaggregated = row_["serving_mode"] == "disaggregated";
    out_.split.tensor = degree("tp");
    out_.split.pipeline = degree("pp");
    out_.split.data = degree("dp_attn");
    const auto batch = number("batch_or_concurrency");
    if (batch) out_.load.batch = static_cast<std::int64_t>(*batch);
    if (out_.disaggregated)
      take_decode_workers(batch.has_value());
    else if (!batch)
      fail("the number of requests at once is not printed");
    take_wide_attention();
  }

  void take_decode_workers(bool told) {
    static const std::regex kDecode(R"(decode (\d*)x\(bs(\d*) tp(\d+) dp(\d+) ep\d*\))");
    std::smatch found;
    const std::string& notes = row_["notes"];
    if (!std::regex_search(notes, found, kDecode)) return fail("the replicas that decode are not printed");
    out_.split.tensor = std::stoll(found[3]);
    out_.split.data = std::stoll(found[4]);
    out_.load.prompts_elsewhere = true;
    if (found[2].length() > 0) {
      out_.load.batch = std::stoll(found[2]);
    } else if (!told) {
      return fail("the batch of the replicas that decode is not printed");
    } else if (found[1].length() == 0) {
      assume("one replica decodes all requests");
    } else {
      out_.load.batch = std::max<std::int64_t>(1, out_.load.batch / std::stoll(found[1]));
    }
  }

  /// Heads that a tensor degree does not divide cannot be cut: attention is repeated on every rank.
  void take_wide_attention() {
    std::int64_t heads = 0;
    for (const Layer& layer : out_.model.layers) {
      if (const auto* a = std::get_if<Attention>(&layer.mixer)) heads = a->heads;
      if (const auto* l = std::get_if<LatentAttention>(&layer.mixer)) heads = l->heads;
    }
    if (heads == 0 || heads % out_.split.tensor == 0) return;
    assume(std::to_string(out_.split.tensor) + " does not divide " + std::to_string(heads) +
           " heads: attention is repeated on every rank");
    out_.split.data *= out_.split.tensor;
    out_.split.tensor = 1;
  }

  void take_load() {
    const auto input = number("input_len"), output = number("output_len");
    if (!input || !output) return fail("the lengths are not printed");
    const bool uniform = row_["notes"].find("uniform in [0.8") != std::string::npos;
    const double mean = uniform ? kMeanOfUniform : 1;
    out_.load.input = *input * mean;
    out_.load.output = *output * mean;
    out_.load.one_length = !uniform;
    out_.starved = row_["kv_starved"] == "1";
    if (out_.starved) fail("the cache was starved: fewer requests ran than were there");
  }

  /// The row's format under the catalog's name: "w8a8 int8", "int4 gptq", "fp4".
  static std::string format_name(const std::string& key) {
    static const std::array kNames{
        std::pair{"w8a8-fp8", "fp8"},   std::pair{"w8a8-int8", "int8"}, std::pair{"int8-gptq", "int8"},
        std::pair{"fp4", "nvfp4"},      std::pair{"int4-gptq", "gptq"}, std::pair{"int4-awq", "awq"},
        std::pair{"int4-bnb?", "int4"}, std::pair{"q8-0", "q8_0"},      std::pair{"bf16/fp16", "bf16"}};
    for (const auto& [theirs, ours] : kNames)
      if (key == theirs) return ours;
    return key;
  }

  /// A checkpoint that is stored in the row's format is read with its list of modules that are not converted.
  void take_format() {
    static const Device kNoDevice;
    const Device& device = out_.device != nullptr ? *out_.device : kNoDevice;
    std::string key = name_key(row_["precision"]);
    if (key.empty()) {
      key = ends_with(name_key(row_["model"]), "-fp8") ? "fp8" : "bf16";
      assume("weights in " + key + ", as the checkpoint's name says");
    }
    const auto told = told_format(format_name(key.substr(0, key.find("-("))), out_.model, device);
    if (!told) return fail("weights in \"" + row_["precision"] + "\"");
    const ServeFormat stored = stored_format(out_.model, device);
    // A scale more or less is the same width, as are a few modules that are not converted.
    const bool routed = std::any_of(out_.model.layers.begin(), out_.model.layers.end(),
                                    [](const Layer& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
    const double ours = routed ? stored.expert_bits : stored.mlp_bits;
    const bool same = std::floor(ours) == std::floor(routed ? told->expert_bits : told->mlp_bits);
    out_.format = !out_.model.quantization.method.empty() && same ? stored : *told;
    out_.format.products = told->products;
    if (name_key(row_["kv_precision"]).starts_with("fp8")) out_.format.cache_bits = kByteBits;
  }

  void take_measured() {
    const auto value = number("value");
    if (!value || !(*value > 0)) return fail("no measured value");
    if (row_["unit"] != "ms" && row_["unit"] != "s") return fail("a unit of " + row_["unit"]);
    out_.measured = *value * (row_["unit"] == "ms" ? kMilli : 1);
  }

  const CsvRow& row_;
  const Catalog& catalog_;
  ServingRow out_;
  std::string reason_;
};

}  // namespace

std::string serving_row_id(const CsvRow& row) {
  const std::string& source = row["source"];
  const std::size_t at = source.find(" id=");
  if (at != std::string::npos) return source.substr(at + std::string(" id=").size());
  return "row " + std::to_string(row.number + kHeaderLines);
}

Result<ServingRow> read_serving_row(const CsvRow& row, const Catalog& catalog) {
  return Reading(row, catalog).run();
}

Result<StartUp> read_start_up(const CsvRow& row, const Catalog& catalog) {
  return Reading(row, catalog).start_up();
}

}  // namespace shardplan
