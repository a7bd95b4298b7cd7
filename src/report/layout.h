// Plain text for people: columns that line up, lines that wrap. Widths count characters, not bytes.
//
//   Table t({Align::kLeft, Align::kRight});   t.add({"latency term", "1.89 ms"});   t.text("  ")
//
// Not here: what is printed (comm_report.h, explain.h, ...), colour (cli/).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

inline constexpr std::size_t kTextWidth = 100;

enum class Align { kLeft, kRight };

/// Rows of cells. A cell of the last column is never padded; empty cells at a row's end are left out.
class Table {
 public:
  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  /// Each row on a line of its own that starts with `indent`.
  std::string text(std::string_view indent) const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Characters of a UTF-8 text.
std::size_t display_width(std::string_view text);

/// Breaks at spaces; the first line starts with `first`, the others with `rest`. Ends with a newline.
std::string wrap(std::string_view text, std::string_view first, std::string_view rest,
                 std::size_t width = kTextWidth);

}  // namespace shardplan
