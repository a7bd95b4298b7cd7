#include "report/comm_sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/layout.h"
#include "report/svg_parts.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kBarWidth = 30;  // characters of the plot beside the table
// The drawing, in pixels.
constexpr double kWidth = 720, kHeight = 420, kLeft = 80, kRight = 20, kTop = 40, kBottom = 50;

std::string way_text(CommAlgorithm algorithm, const std::optional<Protocol>& protocol) {
  return std::string(name(algorithm)) + (protocol ? std::string(", ") + name(*protocol) : "");
}

std::string title_of(const CommSweep& sweep) {
  const CommQuestion& q = sweep.question;
  return std::string(name(q.collective)) + " over " + format_count(q.ranks.value.raw()) +
         (q.ranks.value > ratio(1) ? " ranks" : " rank") +
         (q.cluster.name.empty() ? "" : " of " + q.cluster.name);
}

Json protocol_json(const std::optional<Protocol>& protocol) {
  return protocol ? Json(name(*protocol)) : Json(nullptr);
}

/// A decade or a power of two on an axis.
struct Frame {
  double size_low, size_high, time_low, time_high;
  double x(double size) const {
    return kLeft + (kWidth - kLeft - kRight) * log_share(size, size_low, size_high);
  }
  double y(double time) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * log_share(time, time_low, time_high);
  }
};

std::string axes_svg(const Frame& f) {
  constexpr double kSizeStep = 32, kTimeStep = 10, kLabelGap = 6, kLabelDrop = 18;
  std::string svg;
  for (double size = f.size_low; size <= f.size_high; size *= kSizeStep) {
    svg += svg_line(f.x(size), kTop, f.x(size), kHeight - kBottom, "grid");
    svg += svg_text(f.x(size), kHeight - kBottom + kLabelDrop, "middle", format(bytes(size)));
  }
  for (double time = f.time_low; time <= f.time_high; time *= kTimeStep) {
    svg += svg_line(kLeft, f.y(time), kWidth - kRight, f.y(time), "grid");
    svg += svg_text(kLeft - kLabelGap, f.y(time), "end", format(seconds(time)));
  }
  return svg;
}

}  // namespace

std::string comm_sweep_text(const CommSweep& sweep) {
  BytesPerSecond<> most;
  for (const CommSweepPoint& p : sweep.points) most = max(most, p.bus_bandwidth);
  Table table;
  table.row({"size", "time", "algbw", "busbw", "algorithm"});
  for (const CommSweepPoint& p : sweep.points) {
    const double share = most > bytes_per_s(0) ? (p.bus_bandwidth / most).raw() : 0;
    const auto bar = static_cast<std::size_t>(std::lround(share * kBarWidth));
    std::string way = way_text(p.algorithm, p.protocol);
    constexpr std::size_t kWayWidth = 18;
    way.resize(std::max(way.size(), kWayWidth), ' ');
    table.row({format(p.size), format(p.time), format(p.algorithm_bandwidth), format(p.bus_bandwidth),
               bar > 0 ? way + std::string(bar, '#') : way_text(p.algorithm, p.protocol)});
  }
  std::string text = title_of(sweep) + "\n\n" + table.text("  ", true) + "\n  # = busbw, the longest " +
                     format(most) + "\n\npicked by size\n";
  Table switches("ll");
  for (const CommSwitch& s : sweep.switches) {
    switches.row({"from " + format(s.from), way_text(s.algorithm, s.protocol)});
  }
  text += switches.text() + "\nassumed\n";
  for (const std::string& line : sweep.question.assumed) text += wrap(line, "  ", "    ");
  return text;
}

Json comm_sweep_json(const CommSweep& sweep) {
  Json json{{"schema_version", kSchemaVersion},
            {"collective", name(sweep.question.collective)},
            {"ranks", static_cast<std::int64_t>(sweep.question.ranks.value.raw())},
            {"sweep", Json::array()},
            {"switch_points", Json::array()},
            {"assumed", sweep.question.assumed}};
  for (const CommSweepPoint& p : sweep.points) {
    json["sweep"].push_back({{"size_bytes", p.size.raw()},
                             {"time_s", p.time.raw()},
                             {"algorithm", name(p.algorithm)},
                             {"protocol", protocol_json(p.protocol)},
                             {"algorithm_bandwidth_bytes_per_s", p.algorithm_bandwidth.raw()},
                             {"bus_bandwidth_bytes_per_s", p.bus_bandwidth.raw()}});
  }
  for (const CommSwitch& s : sweep.switches) {
    json["switch_points"].push_back({{"from_bytes", s.from.raw()},
                                     {"algorithm", name(s.algorithm)},
                                     {"protocol", protocol_json(s.protocol)}});
  }
  return json;
}

std::string comm_sweep_svg(const CommSweep& sweep) {
  constexpr double kTitleAt = 20, kMarkDrop = 14;
  std::string svg = svg_open(kWidth, kHeight);
  svg += svg_text(kWidth / 2, kTitleAt, "middle", title_of(sweep));
  if (sweep.points.empty() || !(sweep.points.front().time > seconds(0))) return svg + "</svg>\n";
  const CommSweepPoint &first = sweep.points.front(), &last = sweep.points.back();
  const Frame frame{first.size.raw(), last.size.raw(),
                    std::pow(10.0, std::floor(std::log10(first.time.raw()))),
                    std::pow(10.0, std::ceil(std::log10(last.time.raw())))};
  svg += axes_svg(frame);
  std::string points;
  for (const CommSweepPoint& p : sweep.points) {
    points += fmt::format("{:.1f},{:.1f} ", frame.x(p.size.raw()), frame.y(p.time.raw()));
  }
  svg += "<polyline class=\"curve\" points=\"" + points + "\"/>\n";
  double row = kTop;
  for (const CommSwitch& s : sweep.switches) {
    const double x = frame.x(s.from.raw());
    row += kMarkDrop;
    svg += svg_line(x, kTop, x, kHeight - kBottom, "switch");
    svg += svg_text(x + 2, row, "start", way_text(s.algorithm, s.protocol));
  }
  return svg + "</svg>\n";
}

}  // namespace shardplan
