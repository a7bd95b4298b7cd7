// The model of a question: by name, from a file, or by hand.
#include <filesystem>

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
  if (model && model.value().name.empty()) model.value().name = file;
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

Result<Model> by_hand(FlagReader& flags) {
  Model m;
  m.name = "by hand";
  m.architecture = "by_hand";
  m.source = {SourceKind::kUser, "flags", "flags", "", "", ""};
  for (const FlagReader::Member needed : {&Spec::params, &Spec::layers, &Spec::hidden, &Spec::heads}) {
    if (flags.told(needed)) continue;
    return Error{"missing_flag", std::string("a model by hand needs ") + flag_name(needed), flag_name(needed),
                 "--params (billions) --layers --hidden --heads together", ""};
  }
  m.declared_parameters = flags.parameters(&Spec::params);
  const std::int64_t layers = flags.integer(&Spec::layers, 1, kLayersMax).value_or(1);
  m.hidden = flags.integer(&Spec::hidden, 1, kWidthMax).value_or(1);
  Attention a;
  a.heads = flags.integer(&Spec::heads, 1, kHeadsMax).value_or(1);
  const auto kv_heads = flags.integer(&Spec::kv_heads, 1, kHeadsMax);
  a.kv_heads = kv_heads.value_or(a.heads);
  if (!kv_heads) m.assumed.push_back("as many key-value heads as heads");
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
  const auto ffn = flags.integer(&Spec::ffn, 1, kWidthMax);
  DenseMlp mlp{ffn.value_or(kFfnOverHidden * m.hidden), ffn.has_value(), false};
  m.assumed.push_back(ffn ? "a gated MLP (three matrices) of width " + std::to_string(mlp.width)
                          : "an MLP of two matrices, four times as wide as the hidden size");
  m.vocab = flags.integer(&Spec::vocab, 1, kVocabularyMax).value_or(0);
  if (m.vocab == 0) m.assumed.push_back("no vocabulary given: logits are left out");
  m.has_embeddings = m.vocab > 0;
  if (flags.error()) return *flags.error();
  m.layers.assign(static_cast<std::size_t>(layers), Layer{a, mlp, 0, 0});
  m.name = format_number(*m.declared_parameters / 1e9) + "B by hand";
  return m;
}

}  // namespace

Result<Model> build_model(const QuestionSpec& spec, const Catalog& catalog, std::vector<std::string>&) {
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
  if (hand != nullptr) return by_hand(flags);
  if (named == nullptr) {
    return Error{"missing_flag", "no model", "--model",
                 "--model NAME|FILE, --preset NAME, or --params --layers --hidden --heads", ""};
  }
  std::error_code ignored;
  if (spec.model && std::filesystem::exists(*spec.model, ignored)) return from_file(*spec.model);
  const std::string& text = spec.model ? *spec.model : *spec.preset;
  const bool looks_like_path =
      spec.model && (text.ends_with(".json") || text.starts_with(".") || text.starts_with("/"));
  if (looks_like_path)
    return Error{"not_found", "no such file: " + text, "--model", "a config.json or its folder", ""};
  return by_name(text, catalog, flag_name(named));
}

}  // namespace shardplan
