// A sentence that keeps the numbers it states.
//
//   Sentence s("state is ");
//   s << stated("state", state) << ", " << stated("over_activations", state / activations) << " times ...";
//   s.words();     // "state is 2,608 GiB, 10.2 times ..."
//   s.figures();   // {"state", 2.8e12, "bytes"}, {"over_activations", 10.19, ""}
//
// Private to reason/. Not here: what is said (binding.cpp, axes.cpp, nothing_fits.cpp, failure_*.cpp).
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "reason/answer.h"
#include "units/format.h"

namespace shardplan {

/// A number, and how a sentence has it.
struct Stated {
  StatedFigure figure;
  std::string text;
};

inline Stated stated(const char* id, Bytes<> q) { return {{id, q.raw(), "bytes"}, format(q)}; }
/// Two decimals, for sizes that are held against each other.
inline Stated stated_gibibytes(const char* id, Bytes<> q) {
  return {{id, q.raw(), "bytes"}, format_gibibytes(q)};
}
inline Stated stated(const char* id, Seconds<> q) { return {{id, q.raw(), "s"}, format(q)}; }
/// In minutes, hours or days.
inline Stated stated_duration(const char* id, Seconds<> q) {
  return {{id, q.raw(), "s"}, format_duration(q)};
}
inline Stated stated(const char* id, BytesPerSecond<> q) { return {{id, q.raw(), "bytes/s"}, format(q)}; }
inline Stated stated(const char* id, TokensPerSecond<> q) { return {{id, q.raw(), "tokens/s"}, format(q)}; }
/// What is needed, not rounded down.
inline Stated stated_need(const char* id, BytesPerSecond<> q) { return stated(id, rounded_up(q)); }
inline Stated stated(const char* id, Usd<> q) { return {{id, q.raw(), "USD"}, format(q)}; }
inline Stated stated_number(const char* id, double number) {
  return {{id, number, ""}, format_number(number)};
}
inline Stated stated(const char* id, Ratio<> q) { return stated_number(id, q.raw()); }
/// In percent.
inline Stated stated_share(const char* id, double share) {
  return {{id, share, "share"}, format_percent(share)};
}
inline Stated stated_share(const char* id, Ratio<> share) { return stated_share(id, share.raw()); }
/// A whole number; the unit's word is the text's.
inline Stated stated_count(const char* id, double count, const char* unit = "") {
  return {{id, count, unit}, format_count(count)};
}
/// The same with its noun: "1 GPU", "64 GPUs".
inline Stated stated_counted(const char* id, double n, std::string_view noun, std::string_view plural = "s",
                             const char* unit = "") {
  return {{id, n, unit}, counted(n, noun, plural)};
}
template <std::integral Count>
Stated stated_counted(const char* id, Count n, std::string_view noun, std::string_view plural = "s",
                      const char* unit = "") {
  return stated_counted(id, static_cast<double>(n), noun, plural, unit);
}
template <std::integral Count>
Stated stated_count(const char* id, Count count, const char* unit = "") {
  return stated_count(id, static_cast<double>(count), unit);
}

class Sentence {
 public:
  Sentence() = default;
  explicit Sentence(std::string_view start) : words_(start) {}

  Sentence& operator<<(std::string_view words) {
    words_ += words;
    return *this;
  }
  Sentence& operator<<(const Stated& number) {
    words_ += number.text;
    figures_.push_back(number.figure);
    return *this;
  }
  Sentence& operator<<(const Sentence& more) { return add(more.words_, more.figures_); }

  /// A sentence that was made before.
  Sentence& add(std::string_view words, const std::vector<StatedFigure>& figures) {
    words_ += words;
    figures_.insert(figures_.end(), figures.begin(), figures.end());
    return *this;
  }

  bool empty() const { return words_.empty(); }
  const std::string& words() const { return words_; }
  const std::vector<StatedFigure>& figures() const { return figures_; }

 private:
  std::string words_;
  std::vector<StatedFigure> figures_;
};

}  // namespace shardplan
