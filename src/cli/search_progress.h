// What a person sees of a search that takes long, and how it is ended early.
//
//   SearchProgress progress;
//   search(estimator, fixed, SearchOptions{.watch = &progress.watch()});
//
// After half a second a line on standard error counts the layouts, where that is a terminal; Ctrl-C stops the
// search, which then returns the best so far. A second Ctrl-C ends the program. One at a time.
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
