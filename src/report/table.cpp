#include "report/table.h"

#include <algorithm>

#include "report/layout.h"

namespace shardplan {

std::string Table::text(const std::string& indent, bool note_column) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - display_width(row[i]), ' ');
      const bool left =
          (i < alignment_.size() && alignment_[i] == 'l') || (note_column && i + 1 == widths.size());
      if (i > 0) line += "  ";
      line += left ? row[i] + pad : pad + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace shardplan
