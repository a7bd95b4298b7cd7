// A value inside a JSON document that knows its path, for readers that must say exactly where the text is
// wrong.
//
// The first complaint is kept (in the ReadLog that all nodes of a document share); later ones are dropped,
// and a node that is missing or of the wrong type reads as zero or empty. So a reader takes all its fields
// and checks once:
//
//   ReadLog log{"cluster.json"};
//   JsonNode root(&json, "", &log);
//   root.allow_only({"name", "gpus"});
//   std::string name = root.at("name").text();
//   std::int64_t gpus = root.at("gpus").integer(1, 1024);
//   if (log.error) return *log.error;   // where: "cluster.json: gpus"
//
// Not here: parsing of text (json_text.h), what the fields mean.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/result.h"

namespace shardplan {

/// The first thing that was wrong in a document.
struct ReadLog {
  std::string document;  // file name, or "catalog devices"
  std::optional<Error> error;
};

class JsonNode {
 public:
  /// `value` may be null: a field that is not there.
  JsonNode(const nlohmann::json* value, std::string path, ReadLog* log)
      : value_(value), path_(std::move(path)), log_(log) {}

  /// Present and not null.
  explicit operator bool() const { return value_ != nullptr && !value_->is_null(); }
  const std::string& path() const { return path_; }
  const nlohmann::json* json() const { return value_; }
  bool is_text() const { return value_ != nullptr && value_->is_string(); }
  bool is_object() const { return value_ != nullptr && value_->is_object(); }
  bool is_number() const { return value_ != nullptr && value_->is_number(); }

  /// Complains about every key that is not listed, with the nearest one that is.
  void allow_only(const std::vector<const char*>& keys) const;
  /// A field that must be there.
  JsonNode at(const char* key) const;
  /// A field that may be there.
  JsonNode find(const char* key) const;
  /// The elements of a list.
  std::vector<JsonNode> items() const;
  struct Member;
  /// The fields of an object, in the order of their names.
  std::vector<Member> members() const;

  std::string text() const;
  std::vector<std::string> texts() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  double number(double low, double high) const;

  void fail(std::string code, std::string message, std::string expected, std::string nearest = "") const;

 private:
  bool usable(bool right_type, const char* expected) const;
  std::string where() const;

  const nlohmann::json* value_;
  std::string path_;
  ReadLog* log_;
};

struct JsonNode::Member {
  std::string key;
  JsonNode value;
};

}  // namespace shardplan
