#include "catalog/spread.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kPercent = 0.01;

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// "+- 21 %" or "+- 0.053"
std::optional<Spread> take_spread(std::string_view& text) {
  const auto size = take_number(text);
  if (!size) return std::nullopt;
  if (take(text, " %")) return Spread{*size * kPercent, true};
  return Spread{*size, take(text, " of it")};
}

}  // namespace

double Spread::low(double value) const { return of_logarithm ? value * std::exp(-size) : value - size; }
double Spread::high(double value) const { return of_logarithm ? value * std::exp(size) : value + size; }

std::string spread_words(const Spread& spread) {
  return "+- " +
         (spread.of_logarithm ? format_number(spread.size / kPercent) + " %" : format_number(spread.size));
}

std::optional<Spread> spread_of(const Source& source) {
  std::string_view note = source.note;
  if (take(note, "prior ") && !(take_number(note) && take(note, " "))) return std::nullopt;
  if (!take(note, "+- ")) return std::nullopt;
  std::optional<Spread> spread = take_spread(note);
  if (!spread || !take(note, ", jackknife over ")) return spread;
  if (!take(note, "sources ") && !take(note, "(model, GPU, engine) ")) return spread;
  // Of it as the first one is.
  if (const auto sources = take_spread(note)) spread->size = std::max(spread->size, sources->size);
  return spread;
}

}  // namespace shardplan
