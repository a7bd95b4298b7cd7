// Reads fields of one config object: from the file, else the reference class's default (and says so), else an
// error.
//
//   ConfigReader r(object, {"config.json", "text_config."}, "LlamaConfig", defaults, assumed);
//   std::int64_t hidden = r.integer({"hidden_size", "n_embd"}, kWidthMax);
//   if (r.failed()) return r.error();
//
// The first error is kept and everything after it reads as 1, 0 or empty, so builders need no check after
// each field. A null in the file means what it means to the reference class: "not given", never zero.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/result.h"

namespace shardplan {

// Bounds far beyond any model that exists: what lies outside is a damaged file.
inline constexpr std::int64_t kLayersMax = 10'000;
inline constexpr std::int64_t kWidthMax = 1'000'000;
inline constexpr std::int64_t kMlpWidthMax = 10'000'000;
inline constexpr std::int64_t kVocabularyMax = 100'000'000;
inline constexpr std::int64_t kHeadsMax = 100'000;
inline constexpr std::int64_t kExpertsMax = 1'000'000;
inline constexpr std::int64_t kPositionsMax = std::int64_t{1} << 40;

/// Spellings of one field; the first is the one that messages use.
using Names = std::initializer_list<const char*>;

struct ConfigPlace {
  std::string file;          // "config.json"
  std::string path;          // "text_config."
  std::string config_class;  // "LlamaConfig"
};

class ConfigReader {
 public:
  ConfigReader(const nlohmann::json& object, ConfigPlace place, const nlohmann::json& defaults,
               std::vector<std::string>& assumed);

  /// A whole number from `least` to `most`.
  std::int64_t integer(Names names, std::int64_t most, std::int64_t least = 1);
  /// Nothing when the field is missing or null both here and in the class's defaults. `least` defaults to 0.
  std::optional<std::int64_t> optional_integer(Names names, std::int64_t most, std::int64_t least = 0);
  /// As optional_integer; when there is nothing, `derived`, noted as "name = value (rule, class default of
  /// ...)".
  std::int64_t integer_or(Names names, std::int64_t most, std::int64_t derived, std::string_view rule);
  bool flag(Names names);
  std::string text(Names names);
  /// The list as it is in the file (never a default), or null.
  const nlohmann::json* list(Names names);
  /// The object as it is in the file, or null.
  const nlohmann::json* object(Names names);
  /// One name a layer; nullopt when the file has no such list; an error when its length is wrong.
  std::optional<std::vector<std::string>> names_by_layer(Names names, std::int64_t layers);
  /// One number a layer from a list; a single number counts for all.
  std::optional<std::vector<std::int64_t>> integers_by_layer(Names names, std::int64_t layers,
                                                             std::int64_t most);

  /// The entry of one layer, or the single number, without a look at the other layers.
  std::int64_t integer_of_layer(Names names, std::int64_t layer, std::int64_t layers, std::int64_t most);

  bool in_file(Names names) const;
  /// Fields that another one decides: a list of layers makes the count of dense first layers idle.
  void set_aside(Names names) { read_.insert(names.begin(), names.end()); }
  void assume(std::string line) { assumed_.push_back(std::move(line)); }
  void fail(std::string code, std::string_view field, std::string message, std::string expected);
  void fail_with(Error error);
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  std::string where(std::string_view field) const;
  const std::string& config_class() const { return place_.config_class; }
  const nlohmann::json& raw() const { return object_; }
  std::string path() const { return place_.path; }
  /// Fields of the file that nobody read and that are not known to be harmless, noted in `assumed`.
  void note_unread();

 private:
  struct Found {
    const char* name = "";
    const nlohmann::json* value = nullptr;
    bool is_default = false;
  };
  Found find(Names names);
  void refuse_misspelt(const std::string& key);
  void note_default(const Found& found);
  void note_other_spelling(const Found& found, const char* name, const nlohmann::json& value);

  const nlohmann::json& object_;
  ConfigPlace place_;
  const nlohmann::json& defaults_;
  std::vector<std::string>& assumed_;
  std::set<std::string> read_;
  std::set<std::string> noted_;
  std::optional<Error> error_;
};

/// A whole number, also when written 32.0; nullopt for anything else.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);
/// One line of at most 40 characters, for messages.
std::string shown(const nlohmann::json& value);

}  // namespace shardplan
