#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace shardplan::cli {
namespace {

constexpr std::int64_t kBarWidth = 24;
constexpr std::chrono::milliseconds kBetweenDrawings{100};

std::string bar(std::int64_t done, std::int64_t all) {
  const std::int64_t full = kBarWidth * done / std::max<std::int64_t>(all, 1);
  std::string text(static_cast<std::size_t>(full), '=');
  if (full < kBarWidth) text += '>';
  text.resize(kBarWidth, ' ');
  return "[" + text + "]";
}

/// "0:01:20"
std::string clock_text(double seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 3600;
  const auto s = static_cast<std::int64_t>(std::ceil(seconds));
  return fmt::format("{}:{:02}:{:02}", s / kHour, s % kHour / kMinute, s % kMinute);
}

}  // namespace

void Progress::show(const SweepSummary& s) {
  if (!shown_ || (width_ > 0 && Clock::now() - drawn_ < kBetweenDrawings)) return;
  std::string line = fmt::format("{} {} of {} items", bar(s.done(), s.items), s.done(), s.items);
  if (s.late > 0) line += fmt::format(", {} late", s.late);
  if (s.infeasible > 0) line += fmt::format(", {} without a plan", s.infeasible);
  if (s.errors > 0) line += fmt::format(", {} in error", s.errors);
  const std::int64_t fresh = s.done() - s.kept, left = s.items - s.done();
  if (fresh > 0) {
    const std::chrono::duration<double> spent = Clock::now() - begun_;
    line +=
        ", " + clock_text(spent.count() / static_cast<double>(fresh) * static_cast<double>(left)) + " left";
  }
  draw(line);
}

void Progress::clear() {
  if (width_ == 0) return;
  draw("");
  std::fputs("\r", stderr);
}

void Progress::draw(const std::string& line) {
  std::string padded = "\r" + line;
  padded.resize(std::max(padded.size(), width_ + 1), ' ');
  std::fputs(padded.c_str(), stderr);
  std::fflush(stderr);
  width_ = line.size();
  drawn_ = Clock::now();
}

}  // namespace shardplan::cli
