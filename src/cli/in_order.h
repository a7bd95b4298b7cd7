// Numbered items worked on by several threads, what comes of them taken in the order of the items.
//
//   in_order<std::string>(0, 100, 4, make, take, stop);
//   // make(7) on any thread, at any time; take(7, text) after take(6, ...), one at a time
//
// Few results wait for an earlier one: who is far ahead pauses. No item is begun once stop() is true or
// take() was false; those that are begun are finished, and taken unless take() was false.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace shardplan::cli {

template <class Value, class Make, class Take, class Stop>
void in_order(std::int64_t first, std::int64_t last, std::size_t threads, Make make, Take take, Stop stop) {
  constexpr std::int64_t kAheadOfEach = 16;
  const std::int64_t most_ahead = static_cast<std::int64_t>(threads) * kAheadOfEach;
  std::mutex guard;
  std::condition_variable moved;
  std::map<std::int64_t, Value> waiting;
  std::int64_t next = first, due = first;
  bool good = true;
  const auto work = [&] {
    std::unique_lock lock(guard);
    while (good && next < last && !stop()) {
      const std::int64_t item = next++;
      lock.unlock();
      Value value = make(item);
      lock.lock();
      waiting.emplace(item, std::move(value));
      for (auto at = waiting.find(due); good && at != waiting.end(); at = waiting.find(++due)) {
        good = take(due, at->second);
        waiting.erase(at);
      }
      moved.notify_all();
      // The thread that works on the item that is due does not wait here.
      moved.wait(lock, [&] { return !good || next - due < most_ahead; });
    }
  };
  const auto useful = std::min<std::int64_t>(static_cast<std::int64_t>(threads), last - first);
  std::vector<std::thread> others;
  for (std::int64_t i = 1; i < useful; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace shardplan::cli
