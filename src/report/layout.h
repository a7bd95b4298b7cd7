// Lines of plain text. Widths count characters, not bytes.
//
//   wrap("a long sentence ...", "source: ", "  ");   // later lines are indented by two
//
// Not here: columns (table.h), what is printed, colour (cli/).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardplan {

inline constexpr std::size_t kTextWidth = 100;

/// Characters of a UTF-8 text.
std::size_t display_width(std::string_view text);

/// Breaks at spaces; the first line starts with `first`, the others with `rest`. Ends with a newline.
std::string wrap(std::string_view text, std::string_view first, std::string_view rest,
                 std::size_t width = kTextWidth);

}  // namespace shardplan
