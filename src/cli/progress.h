// How far a sweep is, on one line of standard error that is drawn over and over.
//
//   [=========>                    ] 24 of 72 items, 2 without a plan, 1 in error, 0:01:20 left
//
// For terminals. Not here: what is said at the end (report/sweep_report.h).
#pragma once

#include <shardplan/shardplan.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace shardplan::cli {

class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  /// Draws the line anew, unless it was a moment ago.
  void show(const SweepSummary& summary);
  /// Leaves an empty line behind.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const std::string& line);

  bool shown_;
  Clock::time_point begun_ = Clock::now(), drawn_;
  std::size_t width_ = 0;  // of what stands there
};

}  // namespace shardplan::cli
