#include "import/json_node.h"

#include <cmath>

#include "import/json_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// What was read, short enough for one line.
std::string excerpt(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::string child_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string range_text(double low, double high) {
  return "between " + format_number(low) + " and " + format_number(high);
}

}  // namespace

std::string JsonNode::where() const { return path_.empty() ? log_->document : log_->document + ": " + path_; }

void JsonNode::fail(std::string code, std::string message, std::string expected, std::string nearest) const {
  if (log_->error) return;
  log_->error = Error{std::move(code), std::move(message), where(), std::move(expected), std::move(nearest)};
}

bool JsonNode::usable(bool right_type, const char* expected) const {
  if (value_ == nullptr) return false;
  if (!right_type) fail("wrong_type", excerpt(*value_) + " is not " + expected, expected);
  return right_type;
}

void JsonNode::allow_only(const std::vector<const char*>& keys) const {
  if (!usable(is_object(), "an object")) return;
  const std::vector<std::string> known(keys.begin(), keys.end());
  for (const auto& [key, value] : value_->items()) {
    bool found = false;
    for (const std::string& k : known) found = found || k == key;
    if (found) continue;
    std::string list;
    for (const std::string& k : known) list += (list.empty() ? "one of " : ", ") + k;
    JsonNode(&value, child_path(path_, key), log_)
        .fail("unknown_field", "unknown field \"" + key + "\"", list, nearest_name(key, known));
  }
}

JsonNode JsonNode::find(const char* key) const {
  const std::string path = child_path(path_, key);
  if (!usable(is_object(), "an object")) return {nullptr, path, log_};
  const auto it = value_->find(key);
  return {it == value_->end() ? nullptr : &*it, path, log_};
}

JsonNode JsonNode::at(const char* key) const {
  JsonNode child = find(key);
  if (child.value_ == nullptr && is_object()) {
    fail("missing_field", std::string("no field \"") + key + "\"", std::string("the field \"") + key + "\"");
  }
  return child;
}

std::vector<JsonNode> JsonNode::items() const {
  std::vector<JsonNode> nodes;
  if (!usable(value_ != nullptr && value_->is_array(), "a list")) return nodes;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    nodes.emplace_back(&(*value_)[i], path_ + "[" + std::to_string(i) + "]", log_);
  }
  return nodes;
}

std::vector<JsonNode::Member> JsonNode::members() const {
  std::vector<Member> fields;
  if (!usable(is_object(), "an object")) return fields;
  for (const auto& [key, value] : value_->items()) {
    fields.push_back({key, JsonNode(&value, child_path(path_, key), log_)});
  }
  return fields;
}

std::string JsonNode::text() const {
  return usable(is_text(), "a text") ? value_->get<std::string>() : std::string();
}

std::vector<std::string> JsonNode::texts() const {
  std::vector<std::string> list;
  for (const JsonNode& item : items()) list.push_back(item.text());
  return list;
}

bool JsonNode::boolean() const {
  return usable(value_ != nullptr && value_->is_boolean(), "true or false") && value_->get<bool>();
}

double JsonNode::number(double low, double high) const {
  if (!usable(is_number(), "a number")) return 0;
  const double v = value_->get<double>();
  if (std::isfinite(v) && v >= low && v <= high) return v;
  fail("out_of_range", format_number(v) + " is out of range", "a number " + range_text(low, high));
  return 0;
}

std::int64_t JsonNode::integer(std::int64_t low, std::int64_t high) const {
  const double v = number(static_cast<double>(low), static_cast<double>(high));
  if (v == std::floor(v)) return static_cast<std::int64_t>(v);
  fail("wrong_type", format_number(v) + " is not a whole number",
       "a whole number " + range_text(static_cast<double>(low), static_cast<double>(high)));
  return 0;
}

}  // namespace shardplan
