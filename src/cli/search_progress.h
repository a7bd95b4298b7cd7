// What a person sees of searches that take long, and how they are ended early.
//
//   SearchProgress progress;
//   search(estimator, fixed, SearchOptions{.watch = &progress.watch()});
//   // searching: layouts 12 of 340; Ctrl-C for the best so far
//
// After half a second a line on standard error says what is being done, where that is a terminal; Ctrl-C
// stops all searches that have the watch, which then return the best so far. A second Ctrl-C ends the
// program. One at a time.
#pragma once

#include <shardplan/shardplan.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace shardplan::cli {

class SearchProgress {
 public:
  SearchProgress();
  ~SearchProgress();
  SearchProgress(const SearchProgress&) = delete;
  SearchProgress& operator=(const SearchProgress&) = delete;

  SearchWatch& watch() { return watch_; }

 private:
  void show();

  SearchWatch watch_;
  void (*before_)(int) = nullptr;  // what Ctrl-C did
  std::mutex guard_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread shown_;
};

}  // namespace shardplan::cli
