// A sentence of a finding, and the numbers that stand in it as they were before they were rounded.
//
//   Sentence s;
//   s << stated("headroom", e.headroom()) << " of " << stated("usable", e.usable) << " usable are free";
//   s.text();      // "3.1 GiB of 74 GiB usable are free"
//   s.figures();   // {"headroom", 3328599654, "bytes"}, ...
//
// Private to reason/.
#pragma once

#include <string>
#include <vector>

#include "reason/answer.h"
#include "units/format.h"

namespace shardplan {

/// A number, and how a sentence has it.
struct Stated {
  StatedFigure figure;
  std::string text;
};

inline Stated stated(const char* name, Bytes<> q) { return {{name, q.raw(), "bytes"}, format(q)}; }
inline Stated stated(const char* name, Seconds<> q) { return {{name, q.raw(), "s"}, format(q)}; }
inline Stated stated(const char* name, BytesPerSecond<> q) { return {{name, q.raw(), "bytes/s"}, format(q)}; }
/// In minutes, hours or days.
inline Stated stated_duration(const char* name, Seconds<> q) {
  return {{name, q.raw(), "s"}, format_duration(q)};
}
/// A share, in percent.
inline Stated stated_share(const char* name, double share) {
  return {{name, share, ""}, format_percent(share)};
}
inline Stated stated_count(const char* name, double count) {
  return {{name, count, ""}, format_count(count)};
}
inline Stated stated_number(const char* name, double number) {
  return {{name, number, ""}, format_number(number)};
}

class Sentence {
 public:
  Sentence& operator<<(const std::string& words) {
    text_ += words;
    return *this;
  }
  Sentence& operator<<(const Stated& number) {
    text_ += number.text;
    figures_.push_back(number.figure);
    return *this;
  }
  const std::string& text() const { return text_; }
  const std::vector<StatedFigure>& figures() const { return figures_; }

 private:
  std::string text_;
  std::vector<StatedFigure> figures_;
};

/// Where a failure has arrived, and what is so from there on.
struct Arrival {
  const char* when;  // "above", "below"
  Stated at;
  Sentence then;
};

/// The finding of a kind of failure, made from what is stated of it.
FailureMode failure_mode(const char* id, const Sentence& statement, const char* symptom, const char* metric,
                         const Arrival& arrival);

}  // namespace shardplan
