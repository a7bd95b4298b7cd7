#include "report/layout.h"

#include <algorithm>

namespace shardplan {
std::size_t display_width(std::string_view text) {
  constexpr unsigned kContinuationMask = 0xC0, kContinuation = 0x80;
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & kContinuationMask) != kContinuation;
  }));
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
