// The drawing of run_report.h: step time against memory left free, a line of points for each number of GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "report/run_report.h"
#include "report/svg_parts.h"
#include "units/format.h"

namespace shardplan {
namespace {

// Pixels.
constexpr double kWidth = 860, kHeight = 480, kLeft = 90, kRight = 130, kTop = 40, kBottom = 56;
constexpr double kPoint = 3.5, kRing = 7, kMarks = 7, kMargin = 1.03;
/// From few GPUs to many, on a light ground and on a dark one.
constexpr std::array kColours{"#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#d9b800"};
constexpr std::array kDarkColours{"#b58ae0", "#8fa2ee", "#5fb8c4", "#4fd39b", "#a5e06b", "#f2d22e"};
constexpr std::size_t kLegendMost = 20;

struct Frame {
  double time_low, time_high, free_high;  // seconds, GiB
  double x(Seconds<> step) const {
    return kLeft + (kWidth - kLeft - kRight) * log_share(step.raw(), time_low, time_high);
  }
  double y(double free_gib) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * free_gib / free_high;
  }
};

double free_gib(const Estimate& e) { return (e.headroom() / gibibytes(1)).raw(); }

Frame frame_of(const std::vector<Estimate>& front) {
  Frame frame{front.front().step.raw(), front.front().step.raw(), 0};
  for (const Estimate& e : front) {
    frame.time_low = std::min(frame.time_low, e.step.raw());
    frame.time_high = std::max(frame.time_high, e.step.raw());
    frame.free_high = std::max(frame.free_high, free_gib(e));
  }
  frame.time_low /= kMargin;
  frame.time_high *= kMargin;
  frame.free_high = std::max(frame.free_high * kMargin, 1e-3);
  return frame;
}

/// 1, 2 and 5 times powers of ten; on a narrow axis even steps.
std::vector<double> time_marks(const Frame& f) {
  constexpr double kNarrow = 4;
  std::vector<double> marks;
  if (f.time_high / f.time_low < kNarrow) {
    const double step = round_step(f.time_high - f.time_low, kMarks);
    for (double t = std::ceil(f.time_low / step) * step; t <= f.time_high; t += step) marks.push_back(t);
    return marks;
  }
  for (double power = std::pow(10, std::floor(std::log10(f.time_low))); power <= f.time_high; power *= 10) {
    for (const double of : {1.0, 2.0, 5.0}) {
      if (of * power >= f.time_low && of * power <= f.time_high) marks.push_back(of * power);
    }
  }
  return marks;
}

std::string axes_svg(const Frame& f) {
  constexpr double kGap = 6, kDrop = 18, kTitleDrop = 40;
  const double floor = kHeight - kBottom, right = kWidth - kRight;
  std::string svg;
  for (const double t : time_marks(f)) {
    const double x = f.x(seconds(t));
    svg += svg_line(x, kTop, x, floor, "grid") + svg_text(x, floor + kDrop, "middle", format(seconds(t)));
  }
  const double step = round_step(f.free_high, kMarks);
  for (int i = 0; i * step <= f.free_high; ++i) {
    const double y = f.y(i * step);
    svg += svg_line(kLeft, y, right, y, "grid") +
           svg_text(kLeft - kGap, y + 4, "end", format_number(i * step) + " GiB");
  }
  svg += svg_line(kLeft, floor, right, floor, "axis-line") + svg_line(kLeft, kTop, kLeft, floor, "axis-line");
  return svg + svg_text((kLeft + right) / 2, floor + kTitleDrop, "middle", "time of a step") +
         svg_text(kLeft, kTop - kGap, "middle", "left free");
}

std::vector<std::int64_t> sizes_of(const std::vector<Estimate>& front) {
  std::vector<std::int64_t> sizes;
  for (const Estimate& e : front) {
    if (sizes.empty() || sizes.back() != e.plan.gpus()) sizes.push_back(e.plan.gpus());
  }
  return sizes;
}

/// Its place among the colours.
std::size_t colour(std::size_t size, std::size_t sizes) {
  return sizes < 2 ? 0 : size * (kColours.size() - 1) / (sizes - 1);
}

std::string colour_style() {
  const auto rules = [](const auto& colours) {
    std::string css;
    for (std::size_t i = 0; i < colours.size(); ++i)
      css += fmt::format(".curves .point-{0} {{ fill: {1}; }} .curves .line-{0} {{ stroke: {1}; }}\n", i,
                         colours[i]);
    return css;
  };
  return "<style>\n.curves polyline { fill: none; stroke-opacity: 0.5; }\n" + rules(kColours) +
         "@media screen and (prefers-color-scheme: dark) {\n" + rules(kDarkColours) + "}\n</style>\n";
}

std::string legend_svg(const std::vector<std::int64_t>& sizes) {
  constexpr double kRow = 18, kGap = 20, kIndent = 12;
  const std::size_t every = (sizes.size() + kLegendMost - 1) / kLegendMost;
  std::string svg;
  double y = kTop;
  for (std::size_t i = 0; i < sizes.size(); i += every, y += kRow) {
    svg += fmt::format("<circle class=\"point-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n",
                       colour(i, sizes.size()), kWidth - kRight + kGap, y, kPoint);
    svg += svg_text(kWidth - kRight + kGap + kIndent, y + 4, "start", counted(sizes[i], "GPU"));
  }
  return svg;
}

}  // namespace

std::string pareto_svg(const RunAnswer& run, const std::string& title) {
  constexpr double kTitleAt = 20;
  const std::vector<Estimate>& front = run.pareto->plans;
  std::string svg = svg_open(kWidth, kHeight) + svg_text(kWidth / 2, kTitleAt, "middle", title);
  if (front.empty()) {
    const char* why = run.pareto->stopped ? "stopped before a plan was found" : "nothing fits";
    return svg + svg_text(kWidth / 2, kHeight / 2, "middle", why) + "</svg>\n";
  }
  const Frame frame = frame_of(front);
  const std::vector<std::int64_t> sizes = sizes_of(front);
  svg += colour_style() + axes_svg(frame) + legend_svg(sizes);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::string line, points;
    for (const Estimate& e : front) {
      if (e.plan.gpus() != sizes[i]) continue;
      const double x = frame.x(e.step), y = frame.y(free_gib(e));
      const bool best = run.best && run.best->plan == e.plan;
      line += fmt::format("{:.1f},{:.1f} ", x, y);
      points += fmt::format(
          "<circle class=\"point-{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}: {}, {} free</title></circle>\n",
          colour(i, sizes.size()), x, y, kPoint, canonical(e.plan), format(e.step), format(e.headroom()));
      if (!best) continue;
      points += fmt::format("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", x, y, kRing);
      points += svg_text(x + kRing + 2, y - kRing, "start", "best");
    }
    svg +=
        fmt::format("<polyline class=\"line-{}\" points=\"{}\"/>\n{}", colour(i, sizes.size()), line, points);
  }
  return svg + "</svg>\n";
}

}  // namespace shardplan
