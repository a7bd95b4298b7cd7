#include "import/hf_config.h"

#include <fmt/format.h>

#include <sstream>

#include "catalog/parameters.h"
#include "catalog/saturating.h"
#include "import/hf_architectures.h"
#include "import/hf_decoder.h"
#include "import/hf_extras.h"
#include "import/json_text.h"

namespace shardplan {

using nlohmann::json;

namespace {

/// The object that describes the language model, and how we got there.
struct Place {
  const json* object = nullptr;
  std::string path;  // "text_config."
};

Place language_model(const json& root) {
  Place place{&root, ""};
  constexpr int kNestingMax = 3;
  for (int depth = 0; depth < kNestingMax; ++depth) {
    bool entered = false;
    for (const char* name : {"text_config", "thinker_config", "llm_config", "language_config"}) {
      const auto it = place.object->find(name);
      if (entered || it == place.object->end() || !it->is_object()) continue;
      place = {&*it, place.path + name + "."};
      entered = true;
    }
    if (!entered) break;
  }
  return place;
}

std::string text_of(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string class_of(const json& object) {
  const auto it = object.find("architectures");
  if (it == object.end() || !it->is_array() || it->empty() || !it->front().is_string()) return {};
  return it->front().get<std::string>();
}

/// Names under which the architecture may be known, best first.
std::vector<std::string> names_of(const json& root, const Place& place) {
  std::vector<std::string> out;
  for (std::string name : {text_of(*place.object, "model_type"), class_of(*place.object),
                           text_of(root, "model_type"), class_of(root)})
    if (!name.empty()) out.push_back(std::move(name));
  return out;
}

Error unknown_architecture(const std::vector<std::string>& names, const std::string& where,
                           const std::string& path) {
  const std::vector<std::string> known = architecture_names();
  if (names.empty())
    return {"missing_field",
            "model_type is missing",
            fmt::format("{}: {}model_type", where, path),
            "the model type of a decoder language model, such as llama",
            {}};
  return {"unknown_name", fmt::format("model_type is {}", shown(json(names.front()))),
          fmt::format("{}: {}model_type", where, path),
          "the model type of a decoder language model that is known here, such as llama",
          nearest_name(names.front(), known)};
}

/// Whether the head is the embedding: the inner or the outer config says, else the class.
void read_tying(ConfigReader& inner, const ConfigReader& outer, Model& model) {
  bool tied = inner.flag({"tie_word_embeddings"});
  const auto it = outer.raw().find("tie_word_embeddings");
  if (!outer.path().empty() || inner.path().empty() || it == outer.raw().end() || !it->is_boolean()) {
    model.tied_embeddings = tied;
    return;
  }
  const bool outer_tied = it->get<bool>();
  if (inner.in_file({"tie_word_embeddings"}) && tied != outer_tied)
    inner.assume("tie_word_embeddings: the inner and the outer config disagree, taken as true");
  model.tied_embeddings = inner.in_file({"tie_word_embeddings"}) ? tied || outer_tied : outer_tied;
}

/// What published checkpoints are known to do against their config.
void apply_known_exceptions(ConfigReader& r, Model& model) {
  constexpr std::int64_t kFalcon180bHidden = 14848;
  if (model.architecture == "falcon" && model.hidden == kFalcon180bHidden &&
      !r.in_file({"tie_word_embeddings"})) {
    model.tied_embeddings = false;
    r.assume(
        "tie_word_embeddings = false (Falcon-180B's index has a head of its own; the class default is true)");
  }
  if (model.architecture != "gpt_neox_reward_model") return;
  model.tied_embeddings = true;
  r.assume("no language-model head: a reward head of hidden + 1 stands in its place");
}

Source source_of(const std::string& where) {
  Source source;
  source.kind = SourceKind::kUser;
  source.id = where;
  source.title = where;
  return source;
}

std::optional<Error> too_large(const Model& model, const std::string& where) {
  bool over = count_parameters(model).total == kCountMax;
  for (const NamedCount& extra : model.extras) over = over || extra.parameters == kCountMax;
  if (!over) return std::nullopt;
  return Error{
      "out_of_range", "the shape has more than 9.2e18 parameters", where, "a model that can exist", {}};
}

void read_dtype(ConfigReader& inner, ConfigReader& outer, Model& model) {
  model.dtype = inner.text({"torch_dtype", "dtype"});
  if (model.dtype.empty()) model.dtype = outer.text({"torch_dtype", "dtype"});
}

Result<Model> import_object(const json& root, const Place& place, const Architecture& architecture,
                            const std::string& where) {
  const json defaults = json::parse(architecture.defaults, nullptr, false);
  const json none = json::object();
  Model model;
  model.architecture = architecture.model_type;
  model.source = source_of(where);
  model.name = text_of(root, "_name_or_path").empty() ? where : text_of(root, "_name_or_path");
  ConfigReader inner(*place.object, {where, place.path, architecture.config_class}, defaults, model.assumed);
  ConfigReader outer(root, {where, "", architecture.config_class}, none, model.assumed);
  architecture.build(inner, architecture.traits, model);
  read_tying(inner, outer, model);
  apply_known_exceptions(inner, model);
  read_dtype(inner, outer, model);
  ConfigReader& stored = inner.in_file({"quantization_config"}) ? inner : outer;
  model.quantization = read_quantization(stored);
  if (!inner.failed()) add_towers(outer, model);
  if (inner.failed()) return inner.error();
  if (outer.failed()) return outer.error();
  inner.note_unread();
  if (inner.failed()) return inner.error();
  if (auto error = too_large(model, where)) return *error;
  return model;
}

}  // namespace

const Architecture* architecture_named(std::string_view name) {
  for (const auto table :
       {dense_architectures(), classic_architectures(), moe_architectures(), hybrid_architectures()}) {
    for (const Architecture& architecture : table) {
      if (name == architecture.model_type) return &architecture;
      std::istringstream synonyms(architecture.synonyms);
      for (std::string synonym; synonyms >> synonym;)
        if (name == synonym) return &architecture;
    }
  }
  return nullptr;
}

std::vector<std::string> architecture_names() {
  std::vector<std::string> out;
  for (const auto table :
       {dense_architectures(), classic_architectures(), moe_architectures(), hybrid_architectures()}) {
    for (const Architecture& architecture : table) {
      out.emplace_back(architecture.model_type);
      std::istringstream synonyms(architecture.synonyms);
      for (std::string synonym; synonyms >> synonym;) out.push_back(synonym);
    }
  }
  return out;
}

Result<Model> import_hf_config(std::string_view text, std::string_view where) {
  const std::string file(where);
  const Result<json> root = parse_json(text, where);
  if (!root) return root.error();
  if (!root->is_object())
    return Error{"wrong_type",
                 fmt::format("the document is {}", shown(*root)),
                 file,
                 "an object, as config.json is",
                 {}};
  const Place place = language_model(*root);
  const std::vector<std::string> names = names_of(*root, place);
  for (const std::string& name : names)
    if (const Architecture* architecture = architecture_named(name))
      return import_object(*root, place, *architecture, file);
  return unknown_architecture(names, file, place.path);
}

}  // namespace shardplan
