// A sentence that keeps the numbers it states.
//
//   Sentence s("state is ");
//   s.size("state", state).text(", ").ratio("over_activations", state / activations).text(" times ...");
//   s.words();     // "state is 2,608 GiB, 10.2 times ..."
//   s.figures();   // {"state", 2.8e12, "bytes"}, {"over_activations", 10.19, ""}
//
// Private to reason/. Not here: what is said (binding.cpp, axes.cpp, nothing_fits.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

class Sentence {
 public:
  Sentence() = default;
  explicit Sentence(std::string_view start) : words_(start) {}

  Sentence& text(std::string_view more);
  Sentence& size(const char* id, Bytes<> value);
  /// Two decimals, for sizes that are held against each other.
  Sentence& gibibytes(const char* id, Bytes<> value);
  Sentence& time(const char* id, Seconds<> value);
  Sentence& rate(const char* id, BytesPerSecond<> value);
  /// What is needed, not rounded down.
  Sentence& rate_needed(const char* id, BytesPerSecond<> value);
  Sentence& ratio(const char* id, Ratio<> value);
  Sentence& share(const char* id, Ratio<> value);
  /// A whole number; the unit's word is the text's.
  Sentence& count(const char* id, double value, const char* unit = "");
  Sentence& count(const char* id, std::int64_t value, const char* unit = "") {
    return count(id, static_cast<double>(value), unit);
  }
  Sentence& money(const char* id, Usd<> value);
  Sentence& add(const Sentence& more);

  bool empty() const { return words_.empty(); }
  const std::string& words() const { return words_; }
  const std::vector<StatedFigure>& figures() const { return figures_; }

 private:
  Sentence& state(const char* id, double value, const char* unit, std::string_view printed);

  std::string words_;
  std::vector<StatedFigure> figures_;
};

}  // namespace shardplan
