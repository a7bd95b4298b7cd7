#include "cli/search_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

namespace shardplan::cli {
namespace {

constexpr std::chrono::milliseconds kFirst{500}, kBetween{100};

std::atomic<SearchWatch*> watched = nullptr;

extern "C" void stop_search(int signal) {
  if (SearchWatch* const watch = watched) watch->stop = true;
  std::signal(signal, SIG_DFL);
}

/// "sizes 12 of 340"
std::string stage_words(const SearchStage& stage) {
  if (stage.all > 0) return fmt::format("{} {} of {}", stage.of, stage.done, stage.all);
  return stage.done > 0 ? fmt::format("{} {}", stage.of, stage.done) : stage.of;
}

}  // namespace

SearchProgress::SearchProgress() {
  watched = &watch_;
  before_ = std::signal(SIGINT, stop_search);
  // Whoever started the program in the background has Ctrl-C ignored.
  if (before_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  if (isatty(STDERR_FILENO) != 0) shown_ = std::thread([this] { show(); });
}

SearchProgress::~SearchProgress() {
  {
    const std::lock_guard lock(guard_);
    over_ = true;
  }
  ended_.notify_all();
  if (shown_.joinable()) shown_.join();
  std::signal(SIGINT, before_ == SIG_ERR ? SIG_DFL : before_);
  watched = nullptr;
}

void SearchProgress::show() {
  std::unique_lock lock(guard_);
  std::size_t width = 0;
  const auto draw = [&](std::string line) {
    const std::size_t own = line.size();
    line.resize(std::max(own, width), ' ');
    std::fprintf(stderr, "\r%s", line.c_str());
    std::fflush(stderr);
    width = own;
  };
  auto wait = kFirst;
  while (!ended_.wait_for(lock, wait, [&] { return over_; })) {
    draw("searching: " + stage_words(watch_.stage()) + "; Ctrl-C for the best so far");
    wait = kBetween;
  }
  if (width == 0) return;
  width += 2;  // the ^C that a terminal shows behind it
  draw("");
  std::fputs("\r", stderr);
}

}  // namespace shardplan::cli
