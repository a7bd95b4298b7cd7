#include "report/timeline_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "report/html_parts.h"
#include "report/timeline_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

// Pixels.
constexpr double kWidth = 1200, kLeft = 70, kRight = 20, kTop = 86, kRow = 24, kBar = 20, kStrip = 4;
constexpr double kAxis = 40, kDigit = 6.5, kNarrowest = 14;
// Of a longer step each end is drawn, with so many passes of a stage or several for each stage, and a gap.
constexpr std::size_t kPassesOfAnEnd = 40, kPassesForEachStage = 3;
constexpr double kGap = 30;

constexpr const char* kExposed = "exposed";

// Of this drawing alone: a page that holds it has a style of its own.
constexpr std::string_view kStyle = R"(<style>
.timeline text { font: 12px system-ui, sans-serif; fill: #1b1b1f; }
.timeline .small { font-size: 10px; }
.timeline .title { font-size: 15px; font-weight: 600; }
.timeline .ground { fill: #ffffff; } .timeline .idle { fill: #ececf0; }
.timeline .line { stroke: #8a8a94; stroke-width: 1; } .timeline .bar { stroke: #ffffff; stroke-width: 0.5; }
.timeline .in { fill: #ffffff; text-anchor: middle; font-size: 10px; }
.timeline .forward { fill: #2f6fb3; } .timeline .recompute { fill: #8b6fb8; }
.timeline .backward { fill: #2e8b57; } .timeline .input-gradient { fill: #1b7f8c; }
.timeline .weight-gradient { fill: #b8860b; } .timeline .gradient-reduction { fill: #c0392b; }
.timeline .exposed { fill: #d0801d; }
.timeline .optimizer { fill: #5d5d66; } .timeline .other { fill: #9a9aa4; }
@media screen and (prefers-color-scheme: dark) {
  .timeline text { fill: #e6e6ea; } .timeline .ground { fill: #17171a; } .timeline .idle { fill: #2a2a30; }
  .timeline .bar { stroke: #17171a; } .timeline .in { fill: #ffffff; }
}
</style>
)";

std::string css_class(StepWork work) {
  std::string text = name(work);
  std::replace(text.begin(), text.end(), ' ', '-');
  return text;
}

/// 1, 2 or 5 times a power of ten, for about ten marks.
double tick(double span) {
  const double rough = span / 10, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

class Picture {
 public:
  Picture(const StepTimeline& line, const std::string& title) : line_(line) {
    line.for_each([&](const StepEvent& e) {
      span_ = std::max(span_, e.end);
      used_[static_cast<std::size_t>(e.work)] = true;
    });
    const std::size_t passes = line.pipeline.ranks.front().events.size();
    const std::size_t end =
        std::max(kPassesOfAnEnd, kPassesForEachStage * static_cast<std::size_t>(line.plan.pp));
    cut_from_ = cut_to_ = span_;
    if (passes > 2 * end) {
      cut_from_ = span_ * (static_cast<double>(end) / static_cast<double>(passes));
      cut_to_ = span_ - cut_from_;
    }
    height_ = kTop + kRow * line.plan.pp + kAxis;
    put("<svg class=\"timeline\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\n",
        kWidth, height_, kWidth, height_);
    text_ += kStyle;
    put("<title>{}</title>\n", html_escaped(title));
    put("<rect class=\"ground\" width=\"{}\" height=\"{}\"/>\n", kWidth, height_);
    put("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", kLeft, html_escaped(title));
    put("<text x=\"{}\" y=\"43\">{}</text>\n", kLeft, html_escaped(timeline_sentence(line) + cut_note()));
    legend();
    rows();
    axis();
    text_ += "</svg>\n";
  }

  std::string take() { return std::move(text_); }

 private:
  template <class... Values>
  void put(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
  }

  bool cut() const { return cut_from_ < cut_to_; }
  std::string cut_note() const {
    return cut() ? "; left out: " + format(cut_from_) + " to " + format(cut_to_) : "";
  }

  double x(Seconds<> at) const {
    const Seconds<> drawn = span_ - (cut_to_ - cut_from_);
    const double scale = (kWidth - kLeft - kRight - (cut() ? kGap : 0)) / drawn.raw();
    if (!cut() || at <= cut_from_) return kLeft + scale * at.raw();
    return kLeft + scale * (at - (cut_to_ - cut_from_)).raw() + kGap;
  }

  void legend() {
    double at = kLeft;
    const auto entry = [&](const std::string& of, const std::string& label) {
      put("<rect class=\"{}\" x=\"{:.1f}\" y=\"58\" width=\"12\" height=\"12\"/>", of, at);
      put("<text x=\"{:.1f}\" y=\"68\">{}</text>\n", at + 17, label);
      at += 34 + kDigit * static_cast<double>(label.size());
    };
    for (std::size_t i = 0; i < kStepWorkCount; ++i) {
      const auto work = static_cast<StepWork>(i);
      if (!used_[i] || work == StepWork::kCollectives || work == StepWork::kSend) continue;
      entry(css_class(work), name(work));
    }
    if (used_[static_cast<std::size_t>(StepWork::kCollectives)]) entry(kExposed, "exposed collectives");
    entry("idle", "idle");
  }

  /// Without what falls into the cut; whether that is nothing.
  bool bar(const std::string& of, Seconds<> start, Seconds<> end, double y, double height) {
    const Seconds<> asked = end - start;
    if (cut() && start >= cut_from_) start = std::max(start, cut_to_);
    if (cut() && end <= cut_to_) end = std::min(end, cut_from_);
    if (start >= end) return false;
    put("<rect class=\"bar {}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"/>\n", of, x(start),
        y, std::max(0.1, x(end) - x(start)), height);
    return end - start == asked;
  }

  double row(int rank) const { return kTop + kRow * rank; }

  void rows() {
    for (int rank = 0; rank < line_.plan.pp; ++rank) {
      put("<text x=\"8\" y=\"{:.1f}\">stage {}</text>\n", row(rank) + 14, rank);
      ground(seconds(0), cut_from_, rank);
      if (cut()) ground(cut_to_, span_, rank);
    }
    line_.for_each([&](const StepEvent& e) { event(e); });
  }
  void ground(Seconds<> start, Seconds<> end, int rank) {
    put("<rect class=\"idle\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"/>\n", x(start),
        row(rank), x(end) - x(start), kBar);
  }

  void event(const StepEvent& e) {
    if (e.stream == Stream::kData) {
      bar(css_class(e.work), e.start, e.end, row(e.rank) + kBar - kStrip, kStrip);
      return;
    }
    if (e.work == StepWork::kCollectives) {
      // What a pass waits for on each axis, one axis before the other, so that their sum can be seen.
      const Seconds<> start = exposed_from_ - (e.end - e.start);
      bar(kExposed, start, exposed_from_, row(e.rank), kStrip);
      exposed_from_ = start;
      return;
    }
    if (e.stream != Stream::kCompute) return;
    exposed_from_ = e.end;
    const bool whole = bar(css_class(e.work), e.start, e.end, row(e.rank), kBar);
    const double width = x(e.end) - x(e.start);
    const std::string label = e.micro_batch >= 0 ? std::to_string(e.micro_batch) : "";
    if (!whole || label.empty() || width < std::max(kNarrowest, kDigit * static_cast<double>(label.size())))
      return;
    put("<text class=\"in\" x=\"{:.2f}\" y=\"{:.1f}\">{}</text>\n", x(e.start) + width / 2, row(e.rank) + 14,
        label);
  }

  void axis() {
    const double y = row(line_.plan.pp) + 2, step = tick((span_ - (cut_to_ - cut_from_)).raw());
    for (int i = 0; i * step <= span_.raw() * (1 + 1e-9); ++i) {
      const Seconds<> t = seconds(i * step);
      if (cut() && t > cut_from_ && t < cut_to_) continue;
      put("<line class=\"line\" x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\"/>", x(t), y, x(t),
          y + 5);
      put("<text class=\"small\" text-anchor=\"middle\" x=\"{:.2f}\" y=\"{:.1f}\">{}</text>\n", x(t), y + 17,
          format_number(i * step * 1e3));
    }
    const double right = cut() ? x(cut_from_) : kWidth - kRight;
    put("<line class=\"line\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{:.2f}\" y2=\"{:.1f}\"/>\n", kLeft, y, right, y);
    if (cut()) {
      put("<line class=\"line\" x1=\"{:.2f}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>\n", x(cut_to_), y,
          kWidth - kRight, y);
      put("<text text-anchor=\"middle\" x=\"{:.2f}\" y=\"{:.1f}\">...</text>\n", right + kGap / 2, y + 4);
    }
    put("<text class=\"small\" x=\"8\" y=\"{:.1f}\">ms</text>\n", y + 17);
  }

  const StepTimeline& line_;
  Seconds<> span_;
  std::array<bool, kStepWorkCount> used_{};
  Seconds<> cut_from_, cut_to_;
  Seconds<> exposed_from_;  // end of what of a pass has no exposed collective drawn on it
  double height_ = 0;
  std::string text_;
};

}  // namespace

std::string timeline_svg(const StepTimeline& line, const std::string& title) {
  return Picture(line, title).take();
}

}  // namespace shardplan
