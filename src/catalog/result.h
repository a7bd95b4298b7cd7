// A value, or the reason why the input does not give one. Wrong input is never an exception and never a
// default.
//
//   Result<Model> m = import_hf_config(text, "config.json");
//   if (!m) print(m.error());   // what was read, where, what was expected, the nearest valid name
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace shardplan {

struct Error {
  std::string code;      // stable, for scripts: "unknown_name", "out_of_range", "missing_field", ...
  std::string message;   // one line: what was read and what is wrong with it
  std::string where;     // file, JSON path or flag: "config.json: num_hidden_layers", "--gpus"
  std::string expected;  // what would have been right
  std::string nearest;   // nearest valid name, or empty
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  const T& value() const& { return std::get<0>(state_); }
  T& value() & { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace shardplan
