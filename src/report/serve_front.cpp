// The front of serve_report.h as a table and as a picture: tokens of a user against tokens of a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "report/serve_report.h"
#include "report/svg_parts.h"
#include "units/format.h"

namespace shardplan {
namespace {

// Pixels.
constexpr double kWidth = 860, kHeight = 480, kLeft = 90, kRight = 60, kTop = 40, kBottom = 56;
constexpr double kPoint = 3.5, kRing = 7, kMarks = 7, kMargin = 1.05;

double user(const ServePlan& p) { return 1 / p.cost.tpot.raw(); }
double gpu(const ServePlan& p) { return p.tokens_per_gpu().raw(); }

struct Frame {
  double user_high = 0, gpu_high = 0;
  double x(double v) const { return kLeft + (kWidth - kLeft - kRight) * v / user_high; }
  double y(double v) const { return kHeight - kBottom - (kHeight - kTop - kBottom) * v / gpu_high; }
};

std::string axes_svg(const Frame& f) {
  constexpr double kGap = 6, kDrop = 18, kTitleDrop = 40;
  const double floor = kHeight - kBottom, right = kWidth - kRight;
  std::string svg;
  const double across = round_step(f.user_high, kMarks), up = round_step(f.gpu_high, kMarks);
  for (int i = 0; i * across <= f.user_high; ++i) {
    const double x = f.x(i * across);
    svg +=
        svg_line(x, kTop, x, floor, "grid") + svg_text(x, floor + kDrop, "middle", format_number(i * across));
  }
  for (int i = 0; i * up <= f.gpu_high; ++i) {
    const double y = f.y(i * up);
    svg += svg_line(kLeft, y, right, y, "grid") + svg_text(kLeft - kGap, y + 4, "end", format_number(i * up));
  }
  svg += svg_line(kLeft, floor, right, floor, "axis-line") + svg_line(kLeft, kTop, kLeft, floor, "axis-line");
  return svg +
         svg_text((kLeft + right) / 2, floor + kTitleDrop, "middle", "output tokens a second and user") +
         svg_text(kLeft, kTop - kGap, "middle", "tokens/s a GPU");
}

}  // namespace

std::string serve_front_csv(const ServeAnswer& a) {
  std::string csv =
      "tp,pp,dp_attention,replicas,batch_sequences,tpot_s,ttft_s,tokens_per_s_per_user,tokens_per_s_per_gpu\n";
  for (const ServePlan& p : a.search.front) {
    csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", p.split.tensor, p.split.pipeline, p.split.data,
                       p.replicas, p.batch, p.cost.tpot.raw(), p.ttft.raw(), user(p), gpu(p));
  }
  return csv;
}

std::string serve_front_svg(const ServeAnswer& a) {
  constexpr double kTitleAt = 20;
  const Question& q = a.question.question;
  std::string svg = svg_open(kWidth, kHeight) +
                    svg_text(kWidth / 2, kTitleAt, "middle",
                             q.model.name + " on " + counted(static_cast<double>(q.cluster.gpus), "GPU") +
                                 ", " + q.cluster.device.name);
  if (a.search.front.empty())
    return svg + svg_text(kWidth / 2, kHeight / 2, "middle", "nothing fits") + "</svg>\n";
  Frame frame;
  for (const ServePlan& p : a.search.front) {
    frame.user_high = std::max(frame.user_high, kMargin * user(p));
    frame.gpu_high = std::max(frame.gpu_high, kMargin * gpu(p));
  }
  svg += axes_svg(frame);
  std::string line, points;
  for (const ServePlan& p : a.search.front) {
    const double x = frame.x(user(p)), y = frame.y(gpu(p));
    line += fmt::format("{:.1f},{:.1f} ", x, y);
    points += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}, batch {}: {} a token</title></circle>\n", x,
        y, kPoint, serve_split_words(p.split), p.batch, format(p.cost.tpot));
  }
  svg += fmt::format("<polyline class=\"curve\" fill=\"none\" points=\"{}\"/>\n", line) + points;
  const ServePlan& shown = a.shown();
  if (a.feasible() && !shown.prefill) {
    const double x = frame.x(user(shown)), y = frame.y(gpu(shown));
    svg += fmt::format("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>\n", x, y, kRing) +
           svg_text(x + kRing + 2, y - kRing, "start", "best");
  }
  return svg + "</svg>\n";
}

}  // namespace shardplan
