// Pieces of the drawings of curves and points: text, lines, scales.
//
//   svg += svg_text(x, y, "middle", "64 GPUs") + svg_line(x, 0, x, 400, "grid");
//   kLeft + width * log_share(size, 8, 16e9)
//
// Not here: what is drawn (comm_sweep_report.h, run_report.h); the time line has its own (timeline_svg.h).
#pragma once

#include <string>

namespace shardplan {

/// The head of a drawing with its ground, in pixels; light or dark follows the reader's setting. Classes of
/// its style: grid, axis-line, curve, switch, ring.
std::string svg_open(double width, double height);
std::string svg_text(double x, double y, const char* anchor, const std::string& text);
std::string svg_line(double x1, double y1, double x2, double y2, const char* kind);
/// Where a value lies between two ends on a logarithmic scale, 0 to 1.
double log_share(double value, double low, double high);
/// 1, 2 or 5 times a power of ten, so that about `marks` of them span the length.
double round_step(double span, double marks);

}  // namespace shardplan
