#include "report/svg_parts.h"

#include <fmt/format.h>

#include <cmath>

#include "report/html_parts.h"

namespace shardplan {
namespace {

// Of these drawings alone: a page that holds one has a style of its own.
constexpr std::string_view kStyle = R"(<style>
.curves text { fill: #1b1b1f; } .curves .ground { fill: #ffffff; }
.curves .grid { stroke: #dddddd; } .curves .axis-line { stroke: #888888; }
.curves .curve { fill: none; stroke: #1f77b4; stroke-width: 2; }
.curves .switch { stroke: #d62728; } .curves .ring { fill: none; stroke: #d62728; stroke-width: 2; }
@media screen and (prefers-color-scheme: dark) {
  .curves text { fill: #e8e8ec; } .curves .ground { fill: #1c1c20; }
  .curves .grid { stroke: #3a3a42; } .curves .axis-line { stroke: #9a9aa4; }
  .curves .curve { stroke: #5a9be0; } .curves .switch, .curves .ring { stroke: #ff8f85; }
}
</style>
)";

}  // namespace

std::string svg_open(double width, double height) {
  return fmt::format(
             "<svg class=\"curves\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" "
             "font-family=\"sans-serif\" font-size=\"12\">\n",
             width, height) +
         std::string(kStyle) + "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n";
}

std::string svg_text(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_escaped(text));
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* kind) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind,
                     x1, y1, x2, y2);
}

double log_share(double value, double low, double high) {
  return high > low ? std::log(value / low) / std::log(high / low) : 0.0;
}

double round_step(double span, double marks) {
  const double rough = span / marks, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

}  // namespace shardplan
