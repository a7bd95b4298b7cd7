// How a page looks: one style for screens of any width, light and dark, and for paper.
//
//   page(title, kHtmlStyle, body)
//
// Not here: what has which class (html_report.h and the files that it draws on).
#pragma once

#include <string_view>

namespace shardplan {

extern const std::string_view kHtmlStyle;

}  // namespace shardplan
