#include "reason/sentence.h"

#include "units/format.h"

namespace shardplan {

Sentence& Sentence::text(std::string_view more) {
  words_ += more;
  return *this;
}

Sentence& Sentence::size(const char* id, Bytes<> value) {
  return state(id, value.raw(), "bytes", format(value));
}

Sentence& Sentence::gibibytes(const char* id, Bytes<> value) {
  return state(id, value.raw(), "bytes", format_gibibytes(value));
}

Sentence& Sentence::time(const char* id, Seconds<> value) {
  return state(id, value.raw(), "s", format(value));
}

Sentence& Sentence::rate(const char* id, BytesPerSecond<> value) {
  return state(id, value.raw(), "bytes/s", format(value));
}

Sentence& Sentence::rate_needed(const char* id, BytesPerSecond<> value) {
  return rate(id, rounded_up(value));
}

Sentence& Sentence::ratio(const char* id, Ratio<> value) {
  return state(id, value.raw(), "", format_number(value.raw()));
}

Sentence& Sentence::share(const char* id, Ratio<> value) {
  return state(id, value.raw(), "share", format_percent(value.raw()));
}

Sentence& Sentence::count(const char* id, double value, const char* unit) {
  return state(id, value, unit, format_count(value));
}

Sentence& Sentence::money(const char* id, Usd<> value) {
  return state(id, value.raw(), "USD", format(value));
}

Sentence& Sentence::add(const Sentence& more) {
  words_ += more.words_;
  figures_.insert(figures_.end(), more.figures_.begin(), more.figures_.end());
  return *this;
}

Sentence& Sentence::state(const char* id, double value, const char* unit, std::string_view printed) {
  words_ += printed;
  figures_.push_back({id, value, unit});
  return *this;
}

}  // namespace shardplan
