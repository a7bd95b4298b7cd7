// The model of a question: by name, from a file, or by hand.
#include <filesystem>

#include "catalog/parameters.h"
#include "import/defaults.h"
#include "import/flag_reader.h"
#include "import/hf_config.h"
#include "import/json_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Spec = QuestionSpec;
constexpr std::int64_t kLayersMax = 10'000, kWidthMax = 1'000'000, kHeadsMax = 100'000,
                       kVocabularyMax = 100'000'000;

Result<Model> from_file(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file = folder ? (std::filesystem::path(path) / "config.json").string() : path;
  Result<std::string> text = read_text_file(file);
  if (!text) return text.error();
  Result<Model> model = import_hf_config(*text, file);
  if (model && model.value().name.empty()) model.value().name = printable(file);
  return model;
}

Result<Model> by_name(const std::string& name, const Catalog& catalog, const char* flag) {
  const auto entry = find_model(catalog, name, flag);
  if (!entry) {
    Error error = entry.error();
    error.expected =
        "a catalog name (shardplan catalog models), a hub id that the catalog has, or a config.json";
    return error;
  }
  return (*entry)->model();
}

Attention attention_by_hand(FlagReader& flags, Model& m) {
  Attention a;
  a.heads = flags.integer(&Spec::heads, 1, kHeadsMax).value_or(1);
  const auto kv_heads = flags.integer(&Spec::kv_heads, 1, kHeadsMax);
  a.kv_heads = kv_heads.value_or(a.heads);
  if (!kv_heads) m.assumed.push_back("as many key-value heads as heads: " + std::to_string(a.heads));
  const auto head_dim = flags.integer(&Spec::head_dim, 1, kWidthMax);
  if (!flags.error() && !head_dim && m.hidden % a.heads != 0) {
    flags.fail(&Spec::heads, "not_divisible",
               std::to_string(a.heads) + " heads do not divide a hidden size of " + std::to_string(m.hidden),
               "heads that divide --hidden, or --head-dim");
  }
  if (!flags.error() && a.heads % a.kv_heads != 0) {
    flags.fail(
        &Spec::kv_heads, "not_divisible",
        std::to_string(a.kv_heads) + " key-value heads do not divide " + std::to_string(a.heads) + " heads",
        "a divisor of --heads");
  }
  a.head_dim = head_dim.value_or(m.hidden / a.heads);
  if (!head_dim) m.assumed.push_back("heads of dimension " + std::to_string(a.head_dim) + ", hidden / heads");
  return a;
}

DenseMlp mlp_by_hand(FlagReader& flags, Model& m) {
  const auto ffn = flags.integer(&Spec::ffn, 1, kWidthMax);
  const DenseMlp mlp{ffn.value_or(kFfnOverHidden * m.hidden), ffn.has_value(), false};
  m.assumed.push_back(ffn ? "a gated MLP (three matrices) of width " + std::to_string(mlp.width)
                          : "an MLP of two matrices, four times as wide as the hidden size");
  return mlp;
}

/// --params is the truth for the state; a shape that counts to something else is likely a slip, and said.
void note_other_count(const Model& m, std::vector<std::string>& notes) {
  const double counted = static_cast<double>(count_parameters(m).total), told = *m.declared_parameters;
  if (counted < told * kHandCountFactor && told < counted * kHandCountFactor) return;
  notes.push_back("the shape counts to " + format_number(counted / 1e9) + "B parameters, --params says " +
                  format_number(told / 1e9) +
                  "B: the state follows --params, time and activations the shape");
}

Result<Model> by_hand(FlagReader& flags, std::vector<std::string>& notes) {
  for (const FlagReader::Member needed : {&Spec::params, &Spec::layers, &Spec::hidden, &Spec::heads}) {
    if (flags.told(needed)) continue;
    return Error{"missing_flag", std::string("a model by hand needs ") + flag_name(needed), flag_name(needed),
                 "--params (billions) --layers --hidden --heads together", ""};
  }
  Model m;
  m.architecture = "by_hand";
  m.source = {SourceKind::kUser, "flags", "flags", "", "", ""};
  m.declared_parameters = flags.parameters(&Spec::params);
  const std::int64_t layers = flags.integer(&Spec::layers, 1, kLayersMax).value_or(1);
  m.hidden = flags.integer(&Spec::hidden, 1, kWidthMax).value_or(1);
  const Attention attention = attention_by_hand(flags, m);
  const DenseMlp mlp = mlp_by_hand(flags, m);
  m.vocab = flags.integer(&Spec::vocab, 1, kVocabularyMax).value_or(0);
  m.has_embeddings = m.vocab > 0;
  m.assumed.emplace_back(m.vocab == 0 ? "no vocabulary given: logits are left out"
                                      : "an output head of its own, not tied to the embedding");
  if (flags.error()) return *flags.error();
  m.layers.assign(static_cast<std::size_t>(layers), Layer{attention, mlp, 0, 0});
  m.name = format_number(*m.declared_parameters / 1e9) + "B by hand";
  note_other_count(m, notes);
  return m;
}

Result<Model> named_or_file(const std::string& text, const Catalog& catalog,
                            std::vector<std::string>& notes) {
  std::error_code ignored;
  const bool known = static_cast<bool>(find_model(catalog, text, "--model"));
  const bool folder = std::filesystem::is_directory(text, ignored);
  const bool empty_folder =
      folder && !std::filesystem::exists(std::filesystem::path(text) / "config.json", ignored);
  if (empty_folder && !known) {
    return Error{"not_found", "no config.json in the folder " + text, "--model",
                 "a config.json or its folder", ""};
  }
  if (!empty_folder && std::filesystem::exists(text, ignored)) {
    if (known) notes.push_back("--model " + text + " is read from that file, not from the catalog");
    return from_file(text);
  }
  const bool looks_like_path = text.ends_with(".json") || text.starts_with(".") || text.starts_with("/");
  if (!known && looks_like_path)
    return Error{"not_found", "no such file: " + text, "--model", "a config.json or its folder", ""};
  return by_name(text, catalog, "--model");
}

}  // namespace

Result<Model> build_model(const QuestionSpec& spec, const Catalog& catalog, std::vector<std::string>& notes) {
  FlagReader flags(spec);
  const auto hand = flags.first_told({&Spec::params, &Spec::layers, &Spec::hidden, &Spec::heads,
                                      &Spec::kv_heads, &Spec::ffn, &Spec::vocab, &Spec::head_dim});
  const auto named = flags.first_told({&Spec::model, &Spec::preset});
  if (spec.model && spec.preset) {
    return Error{"conflict", "--model and --preset name the model twice", "--preset", "one of them", ""};
  }
  if (named != nullptr && hand != nullptr) {
    return Error{"conflict",
                 std::string(flag_name(hand)) + " describes a model by hand beside " + flag_name(named),
                 flag_name(hand), "either a name or a shape by hand", ""};
  }
  if (hand != nullptr) return by_hand(flags, notes);
  if (named == nullptr) {
    return Error{"missing_flag", "no model", "--model",
                 "--model NAME|FILE, --preset NAME, or --params --layers --hidden --heads", ""};
  }
  if (spec.preset) return by_name(*spec.preset, catalog, "--preset");
  return named_or_file(*spec.model, catalog, notes);
}

}  // namespace shardplan
