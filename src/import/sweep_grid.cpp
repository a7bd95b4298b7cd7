#include "import/sweep_grid.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "import/flag_reader.h"
#include "import/json_text.h"

namespace shardplan {
namespace {

using Json = nlohmann::ordered_json;

/// Of a flag: the same without its dashes.
std::string key_of(const char* flag) { return std::string(flag).substr(2); }

const std::vector<std::string>& flag_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (const QuestionFlag& flag : question_flags()) all.push_back(key_of(flag.flag));
    for (const PlanFlag& flag : plan_flags()) all.push_back(key_of(flag.flag));
    all.push_back(key_of(kWholeSpaceFlag));
    return all;
  }();
  return keys;
}

bool is_flag(const std::string& key) {
  return std::find(flag_keys().begin(), flag_keys().end(), key) != flag_keys().end();
}

// Beyond it not every whole number is one of floating point.
constexpr double kWholeMost = 9007199254740992.0;

/// As it is typed on a command line.
std::string typed(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool is_scalar(const Json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  return value.is_primitive() && !value.is_discarded();
}

std::string kind_of(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return value.is_number() ? "a number that is not finite" : typed(value);
}

void tell(const SweepGrid& grid, std::int64_t index, SweepItem& item) {
  std::int64_t block = grid.size;
  for (const SweepGrid::Axis& axis : grid.axes) {
    block /= axis.size;
    std::int64_t at = index / block;
    index %= block;
    if (axis.cases.empty()) {
      item[axis.key] = axis.values[static_cast<std::size_t>(at)];
    } else {
      auto one = axis.cases.begin();
      for (; at >= one->size; ++one) at -= one->size;
      tell(*one, at, item);
    }
  }
}

/// What an item tells, the same text for all that come to the same command line: "gpus 8, tp 2".
std::string told_flags(const SweepGrid& grid, std::int64_t index) {
  SweepItem item = SweepItem::object();
  tell(grid, index, item);
  std::map<std::string, std::string> told;
  for (const auto& [key, value] : item.items()) {
    if (!value.is_null()) told[key] = typed(value);
  }
  std::string text;
  for (const auto& [key, value] : told) text += (text.empty() ? "" : ", ") + key + " " + value;
  return text;
}

/// The first complaint is kept; what follows it is not read.
class GridReader {
 public:
  explicit GridReader(const std::string& document) : document_(document) {}

  Result<SweepGrid> run(const Json& root) {
    if (root.is_object() && root.empty()) fail("empty", "no key", "", "at least one key");
    SweepGrid grid = read(root, "");
    for (const SweepGrid::Axis& axis : grid.axes) {
      if (!error_ && several_cases(axis)) refuse_same_items(axis);
    }
    if (error_) return *error_;
    return grid;
  }

 private:
  SweepGrid read(const Json& object, const std::string& path) {
    SweepGrid grid;
    if (!object.is_object()) {
      fail("wrong_type", kind_of(object) + " is not an object", path,
           R"(an object of flags and their values, such as {"preset": "llama3-8b", "gpus": [8, 16]})");
      return grid;
    }
    std::set<std::string> told;
    for (const auto& [key, value] : object.items()) {
      const std::string here = path.empty() ? key : path + "." + key;
      SweepGrid::Axis axis = read_axis(key, value, here);
      if (error_) return grid;
      tell(axis, told, grid.keys, here);
      if (axis.size > kSweepItemsMax / grid.size) {
        fail("too_many", "the product of the keys up to this one is too large", here, expected_items());
        return grid;
      }
      grid.size *= axis.size;
      grid.axes.push_back(std::move(axis));
    }
    return grid;
  }

  SweepGrid::Axis read_axis(const std::string& key, const Json& value, const std::string& path) {
    SweepGrid::Axis axis;
    axis.key = key;
    if (value.is_array() && value.empty()) fail("empty", "an empty list", path, "at least one value");
    const std::vector<Json> values = value.is_array() ? value.get<std::vector<Json>>() : std::vector{value};
    const bool flag = is_flag(key);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < values.size() && !error_; ++i) {
      const std::string here = value.is_array() ? path + "[" + std::to_string(i) + "]" : path;
      if (flag) {
        take_value(values[i], here, seen, axis);
      } else {
        take_case(values[i], here, axis, path);
      }
    }
    if (flag) axis.values = values;
    return axis;
  }

  void take_value(const Json& value, const std::string& path, std::set<std::string>& seen,
                  SweepGrid::Axis& axis) {
    if (!is_scalar(value)) {
      return fail("wrong_type",
                  kind_of(value) + (value.is_array() ? " in a list" : "") + " is no value of a flag", path,
                  "a text, a number, true, false or null; objects go under a name that is no flag");
    }
    // A text that says null is not the null that says nothing; 8.0 is 8.
    const bool whole = value.is_number_float() && value == std::floor(value.get<double>()) &&
                       std::fabs(value.get<double>()) < kWholeMost;
    const std::string text =
        (value.is_null() ? "" : "=") +
        (whole ? std::to_string(static_cast<std::int64_t>(value.get<double>())) : typed(value));
    if (!seen.insert(text).second) fail("duplicate_value", "the same value again", path, "each value once");
    ++axis.size;
  }

  void take_case(const Json& value, const std::string& path, SweepGrid::Axis& axis,
                 const std::string& whole) {
    if (!value.is_object()) {
      return fail("unknown_field", "no flag named \"" + axis.key + "\"", axis.cases.empty() ? whole : path,
                  "a flag of shardplan plan without its dashes; under any other name, objects of flags",
                  nearest_name(axis.key, flag_keys()));
    }
    SweepGrid one = read(value, path);
    if (error_) return;
    axis.size += one.size;
    if (axis.size > kSweepItemsMax) fail("too_many", "too many cases", path, expected_items());
    axis.cases.push_back(std::move(one));
  }

  /// The axis' flags, none of which may have been told before.
  void tell(const SweepGrid::Axis& axis, std::set<std::string>& told, std::vector<std::string>& keys,
            const std::string& path) {
    std::vector<std::string> own;
    std::set<std::string> of_cases;
    if (axis.cases.empty()) own.push_back(axis.key);
    for (const SweepGrid& one : axis.cases) {
      for (const std::string& key : one.keys) {
        if (of_cases.insert(key).second) own.push_back(key);
      }
    }
    for (const std::string& key : own) {
      if (!told.insert(key).second) {
        return fail("conflict", "\"" + key + "\" is told by a key before this one too", path,
                    "each flag in one place");
      }
      keys.push_back(key);
    }
  }

  /// Values come once and keys are told once, so that items are the same by way of cases alone.
  static bool several_cases(const SweepGrid::Axis& axis) {
    return axis.cases.size() > 1 ||
           std::any_of(axis.cases.begin(), axis.cases.end(), [](const SweepGrid& one) {
             return std::any_of(one.axes.begin(), one.axes.end(), several_cases);
           });
  }
  void refuse_same_items(const SweepGrid::Axis& axis) {
    std::unordered_set<std::string> seen;
    for (const SweepGrid& one : axis.cases) {
      for (std::int64_t i = 0; i < one.size; ++i) {
        std::string flags = told_flags(one, i);
        if (!seen.insert(flags).second)
          return fail("duplicate_value", "the same item again: " + (flags.empty() ? "no flag" : flags),
                      axis.key, "each item once");
      }
    }
  }

  static std::string expected_items() { return "at most " + std::to_string(kSweepItemsMax) + " items"; }

  void fail(std::string code, std::string message, const std::string& path, std::string expected,
            std::string nearest = "") {
    if (error_) return;
    error_ = Error{std::move(code), std::move(message), path.empty() ? document_ : document_ + ": " + path,
                   std::move(expected), std::move(nearest)};
  }

  const std::string& document_;
  std::optional<Error> error_;
};

/// The grid as one text, and the contents of the files that it names.
std::string canonical(const SweepGrid& grid, std::map<std::string, std::string>& files) {
  std::string text = "{";
  for (const SweepGrid::Axis& axis : grid.axes) {
    text += Json(axis.key).dump() + ":[";
    for (const Json& value : axis.values) {
      text += value.dump() + ",";
      if ((axis.key != "model" && axis.key != "cluster") || !value.is_string()) continue;
      const std::string path = value.get<std::string>();
      for (const std::string& file : {path, (std::filesystem::path(path) / "config.json").string()}) {
        if (const Result<std::string> content = read_text_file(file)) files["file " + file] = *content;
      }
    }
    for (const SweepGrid& one : axis.cases) text += canonical(one, files) + ",";
    text += "],";
  }
  return text + "}";
}

}  // namespace

Result<SweepGrid> read_sweep_grid(std::string_view text, const std::string& document) {
  const Result<Json> root = parse_ordered_json(text, document);
  if (!root) return root.error();
  return GridReader(document).run(*root);
}

SweepItem sweep_item(const SweepGrid& grid, std::int64_t index) {
  SweepItem item = SweepItem::object();
  for (const std::string& key : grid.keys) item[key] = nullptr;
  tell(grid, index, item);
  return item;
}

Result<PlanQuestion> item_question(const SweepItem& item, const Catalog& catalog) {
  PlanSpec spec;
  const auto told = [&](const char* flag) -> std::optional<std::string> {
    const auto at = item.find(key_of(flag));
    if (at == item.end() || at->is_null()) return std::nullopt;
    return typed(*at);
  };
  for (const QuestionFlag& flag : question_flags()) spec.question.*flag.text = told(flag.flag);
  for (const PlanFlag& flag : plan_flags()) flag.text(spec) = told(flag.flag);
  if (const auto text = told(kWholeSpaceFlag)) {
    const Result<bool> whole = read_switch(kWholeSpaceFlag, *text);
    if (!whole) return whole.error();
    spec.whole_space = *whole;
  }
  return build_plan_question(spec, catalog);
}

std::string sweep_digest(const SweepGrid& grid, const Catalog& catalog, const std::string& program) {
  std::map<std::string, std::string> files;
  const std::string text = canonical(grid, files);
  std::vector<EmbeddedFile> parts{
      {"grid", text.c_str()}, {"catalog", catalog.digest.c_str()}, {"program", program.c_str()}};
  for (const auto& [name, content] : files) parts.push_back({name.c_str(), content.c_str()});
  return catalog_digest(parts);
}

}  // namespace shardplan
