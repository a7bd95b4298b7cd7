// Text columns: the first left-aligned, the rest right-aligned, two spaces between. Widths count characters,
// not bytes.
//
//   Table t; t.row({"weights", "16.4 GiB", "24.8 %"}); t.text("  ");
//   Table words("ll");                                                // both columns left-aligned
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace shardplan {

class Table {
 public:
  Table() = default;
  /// `alignment` has an l or an r for each column; columns beyond it are right-aligned.
  explicit Table(std::string alignment) : alignment_(std::move(alignment)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// Every line starts with `indent` and ends with a newline. The last column is left-aligned when
  /// `note_column`.
  std::string text(const std::string& indent = "  ", bool note_column = false) const;

 private:
  std::string alignment_ = "l";
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace shardplan
