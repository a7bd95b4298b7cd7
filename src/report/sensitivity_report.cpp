#include "report/sensitivity_report.h"

#include <algorithm>
#include <cmath>

#include "report/finding_lines.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kBarWidth =
    13;  // of the longest half, in characters: as wide as the heading beside the axis

std::string signed_percent(double share) { return (share < 0 ? "" : "+") + format_percent(share); }

/// `low`, `high`: shares of the step at the two ends, of which the longest bar of all is `longest`.
std::string bar(double low, double high, double longest) {
  const auto half = [&](double share) {
    return static_cast<std::size_t>(std::lround(std::fabs(share) / longest * kBarWidth));
  };
  const std::size_t shorter = half(std::min({low, high, 0.0})), longer = half(std::max({low, high, 0.0}));
  return std::string(static_cast<std::size_t>(kBarWidth) - shorter, ' ') + std::string(shorter, '#') + "|" +
         std::string(longer, '#');
}

std::string table_of(const std::vector<Sensitivity>& rows, double step, const std::string& what) {
  const auto share = [&](Seconds<> at) { return at.raw() / step - 1; };
  double longest = 0;
  for (const Sensitivity& s : rows)
    longest = std::max({longest, std::fabs(share(s.step_low)), std::fabs(share(s.step_high))});
  Table table("lrrrrrll");
  table.row({"input", "now", "low", "high", "at low", "at high", what + " shorter | longer", ""});
  for (const Sensitivity& s : rows) {
    const double low = share(s.step_low), high = share(s.step_high);
    table.row({s.parameter, threshold_value(s.current, s.unit), threshold_value(s.low, s.unit),
               threshold_value(s.high, s.unit), signed_percent(low), signed_percent(high),
               bar(low, high, longest), s.range});
  }
  return table.text();
}

}  // namespace

std::string sensitivity_lines(const Answer& a) {
  if (a.sensitivity.empty()) return "";
  return "\nwhat moves the step most, each input alone and the plan as it is: at 0.9 and 1.1 of the input, or as far "
         "off as its source\nsays (+-); the time of as many tokens\n" +
         table_of(a.sensitivity, a.result.best->step.raw(), "step");
}

std::string token_sensitivity_lines(const std::vector<Sensitivity>& rows, Seconds<> now) {
  if (rows.empty()) return "";
  return "\nwhat moves the time of a token most, each input alone and the plan as it is: at 0.9 and 1.1 of the input, or "
         "as far off\nas its source says (+-)\n" +
         table_of(rows, now.raw(), "token");
}

Json sensitivity_json(const Answer& a) {
  Json list = Json::array();
  for (const Sensitivity& s : a.sensitivity) {
    list.push_back({{"parameter", s.parameter},
                    {"current", s.current},
                    {"unit", s.unit},
                    {"low", s.low},
                    {"high", s.high},
                    {"range", s.range},
                    {"step_time_low_s", s.step_low.raw()},
                    {"step_time_high_s", s.step_high.raw()}});
  }
  return list;
}

}  // namespace shardplan
