// Who watches searches from another thread, and may stop them.
//
//   SearchWatch watch;
//   search(estimator, fixed, SearchOptions{.watch = &watch});   // anywhere
//   watch.stage();        // {"layouts", 12, 340}, meanwhile
//   watch.stop = true;    // it returns what it has found
//
// Searches that are parts of a larger work are told as its items, not as their layouts:
//
//   WatchedItems sizes(watch, "sizes", 340);
//   for (...) if (!sizes.next()) break;
//
// No clock here, and nothing is printed: cli/search_progress.h does both.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

namespace shardplan {

/// What is being done, and how far it is.
struct SearchStage {
  const char* of = "layouts";
  std::int64_t done = 0;  // or begun
  std::int64_t all = 0;   // at most; 0: nobody knows
};

struct SearchWatch {
  std::atomic<std::int64_t> layouts = 0;   // to be searched, unless a bound excludes them
  std::atomic<std::int64_t> searched = 0;  // of them
  std::atomic<bool> stop = false;

  SearchStage stage() const;
  /// Nothing: what is searched from here on is told as layouts.
  void set_stage(const std::optional<SearchStage>& stage);

 private:
  mutable std::mutex guard_;
  std::optional<SearchStage> stage_;
};

inline bool stopped(const SearchWatch* watch) { return watch != nullptr && watch->stop; }

/// The items of a work, one after the other; one work at a time.
class WatchedItems {
 public:
  WatchedItems(SearchWatch* watch, const char* of, std::int64_t all) : watch_(watch), stage_{of, 0, all} {}
  WatchedItems(const WatchedItems&) = delete;
  WatchedItems& operator=(const WatchedItems&) = delete;
  ~WatchedItems();
  /// Begins the next item; false where the work is stopped.
  bool next();

 private:
  SearchWatch* watch_;
  SearchStage stage_;
};

}  // namespace shardplan
