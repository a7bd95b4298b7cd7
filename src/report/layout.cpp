#include "report/layout.h"

#include <algorithm>

namespace shardplan {
namespace {
constexpr std::string_view kGap = "  ";
}  // namespace

std::size_t display_width(std::string_view text) {
  constexpr unsigned kContinuationMask = 0xC0, kContinuation = 0x80;
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & kContinuationMask) != kContinuation;
  }));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths.at(i) = std::max(widths.at(i), display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i]), ' ');
      if (i > 0) line += kGap;
      line += columns_[i] == Align::kRight ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) line.insert(0, indent);
    out += line + '\n';
  }
  return out;
}

std::string wrap(std::string_view text, std::string_view first, std::string_view rest, std::size_t width) {
  std::string out, line(first);
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (!fresh && display_width(line) + 1 + display_width(word) > width) {
      out += line + '\n';
      line = rest;
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  return out + line + '\n';
}

}  // namespace shardplan
