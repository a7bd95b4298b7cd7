#include "import/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace shardplan {

using nlohmann::json;

std::optional<std::int64_t> whole_number(const json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  constexpr double kExactMax = 9007199254740992.0;  // 2^53
  const double real = value.get<double>();
  if (!(std::fabs(real) <= kExactMax) || real != std::floor(real)) return std::nullopt;
  return static_cast<std::int64_t>(real);
}

std::string shown(const json& value) {
  constexpr std::size_t kShownMax = 40;
  std::string out = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (value.is_number_float() && std::isinf(value.get<double>()))
    out = value.get<double>() > 0 ? "Infinity" : "-Infinity";
  if (out.size() > kShownMax) out = out.substr(0, kShownMax) + "...";
  return out;
}

ConfigReader::ConfigReader(const json& object, ConfigPlace place, const json& defaults,
                           std::vector<std::string>& assumed)
    : object_(object), place_(std::move(place)), defaults_(defaults), assumed_(assumed) {}

std::string ConfigReader::where(std::string_view field) const {
  return fmt::format("{}: {}{}", place_.file, place_.path, field);
}

void ConfigReader::fail(std::string code, std::string_view field, std::string message, std::string expected) {
  fail_with({std::move(code), std::move(message), where(field), std::move(expected), {}});
}

void ConfigReader::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
}

ConfigReader::Found ConfigReader::find(Names names) {
  Found found;
  for (const char* name : names) {
    const auto it = object_.find(name);
    if (it == object_.end()) continue;
    read_.insert(name);
    if (found.value == nullptr)
      found = {name, &*it, false};
    else
      note_other_spelling(found, name, *it);
  }
  if (found.value != nullptr) return found;
  for (const char* name : names)
    if (const auto it = defaults_.find(name); it != defaults_.end()) return {name, &*it, true};
  return {*names.begin(), nullptr, false};
}

/// A field under two names with two values, as vocab_size and padded_vocab_size: the first counts.
void ConfigReader::note_other_spelling(const Found& found, const char* name, const json& value) {
  if (value.is_null() || found.value->is_null() || value == *found.value || failed()) return;
  if (!noted_.insert(std::string(found.name) + " " + name).second) return;
  assume(fmt::format("{} = {} (the file also has {} = {})", found.name, shown(*found.value), name,
                     shown(value)));
}

void ConfigReader::note_default(const Found& found) {
  if (!found.is_default || failed() || !noted_.insert(found.name).second) return;
  assumed_.push_back(
      fmt::format("{} = {} (class default of {})", found.name, shown(*found.value), place_.config_class));
}

std::int64_t ConfigReader::integer(Names names, std::int64_t most, std::int64_t least) {
  const auto value = optional_integer(names, most, least);
  if (value) return *value;
  fail("missing_field", *names.begin(),
       fmt::format("{} is missing{}", *names.begin(), in_file(names) ? " (null)" : ""),
       in_file(names) ? "a whole number, or no such line where the class has a default"
                      : fmt::format("a whole number; {} has no default for it", place_.config_class));
  return std::max<std::int64_t>(least, 1);
}

std::optional<std::int64_t> ConfigReader::optional_integer(Names names, std::int64_t most,
                                                           std::int64_t least) {
  const Found found = find(names);
  if (found.value == nullptr || found.value->is_null()) return std::nullopt;
  note_default(found);
  const auto number = whole_number(*found.value);
  if (!number) {
    fail("wrong_type", found.name, fmt::format("{} is {}", found.name, shown(*found.value)),
         "a whole number");
    return std::max<std::int64_t>(least, 1);
  }
  if (*number < least || *number > most) {
    fail("out_of_range", found.name, fmt::format("{} is {}", found.name, *number),
         fmt::format("a whole number from {} to {}", least, most));
    return std::max<std::int64_t>(least, 1);
  }
  return *number;
}

std::int64_t ConfigReader::integer_or(Names names, std::int64_t most, std::int64_t derived,
                                      std::string_view rule) {
  if (const auto value = optional_integer(names, most, 1)) return *value;
  if (!failed() && noted_.insert(*names.begin()).second)
    assume(
        fmt::format("{} = {} ({}, class default of {})", *names.begin(), derived, rule, place_.config_class));
  return derived;
}

bool ConfigReader::flag(Names names) {
  const Found found = find(names);
  if (found.value == nullptr) return false;
  note_default(found);
  if (found.value->is_boolean()) return found.value->get<bool>();
  if (found.value->is_null()) return false;
  if (const auto number = whole_number(*found.value); number && (*number == 0 || *number == 1))
    return *number == 1;
  fail("wrong_type", found.name, fmt::format("{} is {}", found.name, shown(*found.value)), "true or false");
  return false;
}

std::string ConfigReader::text(Names names) {
  const Found found = find(names);
  if (found.value == nullptr || found.value->is_null()) return {};
  note_default(found);
  if (found.value->is_string()) return found.value->get<std::string>();
  fail("wrong_type", found.name, fmt::format("{} is {}", found.name, shown(*found.value)), "a text");
  return {};
}

const json* ConfigReader::list(Names names) {
  const Found found = find(names);
  if (found.value == nullptr || found.is_default || found.value->is_null()) return nullptr;
  if (found.value->is_array()) return found.value;
  fail("wrong_type", found.name, fmt::format("{} is {}", found.name, shown(*found.value)), "a list");
  return nullptr;
}

const json* ConfigReader::object(Names names) {
  const Found found = find(names);
  if (found.value == nullptr || found.is_default || found.value->is_null()) return nullptr;
  if (found.value->is_object()) return found.value;
  fail("wrong_type", found.name, fmt::format("{} is {}", found.name, shown(*found.value)), "an object");
  return nullptr;
}

std::optional<std::vector<std::string>> ConfigReader::names_by_layer(Names names, std::int64_t layers) {
  const json* values = list(names);
  if (values == nullptr) return std::nullopt;
  std::vector<std::string> out;
  for (const json& value : *values) {
    if (!value.is_string()) {
      fail("wrong_type", *names.begin(), fmt::format("an entry of {} is {}", *names.begin(), shown(value)),
           "a list of texts");
      return std::nullopt;
    }
    out.push_back(value.get<std::string>());
  }
  if (static_cast<std::int64_t>(out.size()) == layers) return out;
  fail("wrong_length", *names.begin(), fmt::format("{} has {} entries", *names.begin(), out.size()),
       fmt::format("{}, one a layer", layers));
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> ConfigReader::integers_by_layer(Names names, std::int64_t layers,
                                                                         std::int64_t most) {
  const Found found = find(names);
  if (found.value == nullptr || !found.value->is_array()) {
    const auto one = optional_integer(names, most, 0);
    if (!one) return std::nullopt;
    return std::vector<std::int64_t>(static_cast<std::size_t>(layers), *one);
  }
  std::vector<std::int64_t> out;
  for (const json& value : *found.value) {
    const auto number = whole_number(value);
    if (!number || *number < 0 || *number > most) {
      fail("out_of_range", found.name, fmt::format("an entry of {} is {}", found.name, shown(value)),
           fmt::format("whole numbers from 0 to {}", most));
      return std::nullopt;
    }
    out.push_back(*number);
  }
  if (static_cast<std::int64_t>(out.size()) == layers) return out;
  fail("wrong_length", found.name, fmt::format("{} has {} entries", found.name, out.size()),
       fmt::format("{}, one a layer", layers));
  return std::nullopt;
}

std::int64_t ConfigReader::integer_of_layer(Names names, std::int64_t layer, std::int64_t layers,
                                            std::int64_t most) {
  const Found found = find(names);
  if (found.value == nullptr || !found.value->is_array()) return integer(names, most, 0);
  if (static_cast<std::int64_t>(found.value->size()) != layers) {
    fail("wrong_length", found.name, fmt::format("{} has {} entries", found.name, found.value->size()),
         fmt::format("{}, one a layer", layers));
    return 1;
  }
  const json& value = (*found.value)[static_cast<std::size_t>(layer)];
  const auto number = whole_number(value);
  if (number && *number >= 0 && *number <= most) return *number;
  fail("out_of_range", found.name, fmt::format("an entry of {} is {}", found.name, shown(value)),
       fmt::format("whole numbers from 0 to {}", most));
  return 1;
}

bool ConfigReader::in_file(Names names) const {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return object_.contains(name); });
}

/// A field that nobody reads and that is spelt like one whose class default was taken for it.
void ConfigReader::refuse_misspelt(const std::string& key) {
  const auto meant = std::find_if(noted_.begin(), noted_.end(), [&](const std::string& name) {
    const auto ahead = std::mismatch(key.begin(), key.end(), name.begin(), name.end());
    const auto behind = std::mismatch(key.rbegin(), std::make_reverse_iterator(ahead.first), name.rbegin(),
                                      std::make_reverse_iterator(ahead.second));
    return behind.first.base() - ahead.first <= 1 && behind.second.base() - ahead.second <= 1;
  });
  if (meant == noted_.end() || object_.contains(*meant)) return;
  fail_with({"unknown_name",
             fmt::format("no field {} in {}, and {} is not there", key, place_.config_class, *meant),
             where(key), *meant, *meant});
}

void ConfigReader::note_unread() {
  // What changes neither shape nor count: generation, tokens, initialisation, rotary and norm constants,
  // routing scores, dropout, kernels, file keeping.
  constexpr std::array kHarmless = {"token",        "init",          "eps",         "rope",
                                    "rotary",       "dropout",       "pdrop",       "drop_prob",
                                    "coef",         "loss",          "dtype",       "scal",
                                    "multiplier",   "softcap",       "norm_topk",   "norm_type",
                                    "jitter",       "cache",         "capacity",    "hidden_act",
                                    "hidden_act",   "act_fn",        "activation",  "gate_act",
                                    "kernels",      "overlap",       "output_",     "return_",
                                    "attn_impl",    "flash",         "beam",        "penalty",
                                    "max_length",   "min_length",    "temperature", "top_p",
                                    "do_sample",    "label",         "auto_map",    "version",
                                    "name_or_path", "task",          "torchscript", "pretraining_tp",
                                    "bf16",         "fp16",          "fp32",        "time_step",
                                    "logn",         "ntk",           "pooling",     "group",
                                    "topk_method",  "scoring_func",  "ep_size",     "step",
                                    "share_for",    "dedicated",     "onnx",        "scalar",
                                    "residual",     "swiglu_limit",  "sinkhorn",    "hc_",
                                    "interleave",   "_source",       "_hf_id",      "transformers",
                                    "unsloth",      "is_decoder",    "is_encoder",  "cross_attention",
                                    "chunk_size",   "pruned",        "seq_length",  "position",
                                    "mm_",          "image",         "audio",       "vision",
                                    "video",        "bidirectional", "mrope",       "logits_to_keep",
                                    "quantization", "architectures", "model_type",  "text_config"};
  std::string unused;
  for (const auto& [key, value] : object_.items()) {
    const bool harmless = std::any_of(kHarmless.begin(), kHarmless.end(), [&key = key](const char* part) {
      return key.find(part) != std::string::npos;
    });
    const bool says_nothing = value.is_null() || value == false || (value.is_structured() && value.empty());
    if (read_.contains(key) || harmless || says_nothing) continue;
    refuse_misspelt(key);
    unused += fmt::format("{}{} = {}", unused.empty() ? "" : ", ", key, shown(value));
  }
  if (!unused.empty())
    assume(fmt::format("in the file, and not used for {}: {}", place_.config_class, unused));
}

}  // namespace shardplan
