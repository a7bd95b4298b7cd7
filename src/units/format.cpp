#include "units/format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace shardplan {
namespace {

struct Prefix {
  double factor;
  const char* unit;
};

template <std::size_t Count>
std::string with_prefix(double v, const std::array<Prefix, Count>& prefixes) {
  const Prefix* chosen = &prefixes.back();
  for (const Prefix& p : prefixes) {
    if (std::fabs(v) >= p.factor) {
      chosen = &p;
      break;
    }
  }
  return format_number(v / chosen->factor) + " " + chosen->unit;
}

/// "2,607.7", "40.75", "64": two decimals at most.
constexpr Bytes<> kHundredth = gibibytes(0.01);

std::string format_hundredths(double v) {
  char decimals[64];
  std::snprintf(decimals, sizeof decimals, "%.2f", v);
  std::string fraction = decimals;
  fraction.erase(0, fraction.find('.'));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (fraction == ".") fraction.clear();
  return format_count(std::trunc(std::strtod(decimals, nullptr))) + fraction;
}

constexpr std::array<Prefix, 4> kByteUnits{
    {{1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}, {1.0, "B"}}};
constexpr std::array<Prefix, 4> kTimeUnits{{{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
constexpr std::array<Prefix, 4> kRateUnits{{{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1.0, "B/s"}}};
constexpr std::array<Prefix, 4> kFlopRateUnits{
    {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1.0, "FLOP/s"}}};
constexpr std::array<Prefix, 5> kFlopUnits{
    {{1e18, "EFLOP"}, {1e15, "PFLOP"}, {1e12, "TFLOP"}, {1e9, "GFLOP"}, {1.0, "FLOP"}}};

constexpr double kHalvesUp = 1 + 1e-13;

struct Number {
  double value;
  std::string_view suffix;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<Number> split_number(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return Number{value, trim(text)};
}

template <std::size_t Count>
std::optional<double> scale(std::string_view text, double bare_unit,
                            const std::array<Prefix, Count>& suffixes) {
  const auto number = split_number(text);
  if (!number) return std::nullopt;
  if (number->suffix.empty()) return number->value * bare_unit;
  for (const Prefix& s : suffixes) {
    if (number->suffix == s.unit) return number->value * s.factor;
  }
  return std::nullopt;
}

}  // namespace

std::string format_number(double v) {
  if (!std::isfinite(v)) return v > 0 ? "inf" : (v < 0 ? "-inf" : "nan");
  if (std::fabs(v) >= 1000.0 && std::fabs(v) < 1e15) return format_count(std::round(v));
  char text[48];
  // Halves go up, as people round: 551.25 is 551.3, whichever side of it the binary fraction lies.
  std::snprintf(text, sizeof text, "%.4g", v * kHalvesUp);
  return text;
}

namespace {

/// What the last printed digit of a value counts.
double last_digit(double v) {
  constexpr double kDigits = 4;
  return std::pow(10.0, std::floor(std::log10(v)) + 1 - kDigits);
}

}  // namespace

// A value that prints in full already, but for its last bits, stays.
BytesPerSecond<> rounded_up(BytesPerSecond<> q) {
  if (!(q.raw() > 0) || !std::isfinite(q.raw())) return q;
  const double step = last_digit(q.raw());
  return bytes_per_s(std::ceil(q.raw() / step / kHalvesUp) * step);
}
Bytes<> rounded_up(Bytes<> q) { return std::ceil((q / kHundredth).raw()) * kHundredth; }
Bytes<> rounded_down(Bytes<> q) { return std::floor((q / kHundredth).raw()) * kHundredth; }

Seconds<> rounded_down(Seconds<> q) {
  if (!(q.raw() > 0) || !std::isfinite(q.raw())) return q;
  const double step = last_digit(q.raw());
  return seconds(std::floor(q.raw() / step * kHalvesUp) * step);
}

std::string format_count(double v) {
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.0f", std::fabs(v));
  std::string text(digits);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return v < 0 ? "-" + text : text;
}

std::string counted(double n, std::string_view noun, std::string_view plural) {
  std::string text = format_count(n) + " " + std::string(noun);
  return n == 1 ? text : text + std::string(plural);
}

std::string format_percent(double share) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100.0);
  return text;
}

std::string format(Bytes<> q) {
  // Memory is compared to the hundredth of a GiB; thousands of GiB keep their decimals.
  for (const Prefix& p : kByteUnits) {
    const double v = q.raw() / p.factor;
    if (std::fabs(v) >= 10.0) return format_hundredths(v) + " " + p.unit;
    if (std::fabs(v) >= 1.0) break;
  }
  return with_prefix(q.raw(), kByteUnits);
}
std::string format_gibibytes(Bytes<> q) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f GiB", q.raw() / gibibytes(1).raw());
  return text.data();
}

std::string format(Seconds<> q) { return q.raw() == 0 ? "0 s" : with_prefix(q.raw(), kTimeUnits); }
std::string format_duration(Seconds<> q) {
  static constexpr std::array<Prefix, 3> kLongUnits{{{86400.0, "days"}, {3600.0, "h"}, {60.0, "min"}}};
  // Days from the second on: 30 h are read more easily than 1.25 days.
  for (const Prefix& p : kLongUnits) {
    const double v = q.raw() / p.factor;
    if (v >= (p.factor > 3600.0 ? 2.0 : 1.0)) return format_number(v) + " " + p.unit;
  }
  return format(q);
}
std::string format(BytesPerSecond<> q) { return with_prefix(q.raw(), kRateUnits); }
std::string format(FlopsPerSecond<> q) { return with_prefix(q.raw(), kFlopRateUnits); }
std::string format(Flops<> q) { return with_prefix(q.raw(), kFlopUnits); }
std::string format(Tokens<> q) { return format_number(q.raw()) + " tokens"; }
std::string format(TokensPerSecond<> q) { return format_number(q.raw()) + " tokens/s"; }
std::string format(Usd<> q) { return "$" + format_number(q.raw()); }
std::string format(Ratio<> q) { return format_number(q.raw()); }

std::string unit_name(int byte, int second, int flop, int token, int usd) {
  std::string above, below;
  const auto add = [&](int exponent, const char* name) {
    for (int i = 0; i < exponent; ++i) above += (above.empty() ? "" : "·") + std::string(name);
    for (int i = 0; i > exponent; --i) below += (below.empty() ? "" : "·") + std::string(name);
  };
  add(byte, "bytes");
  add(flop, "FLOP");
  add(token, "tokens");
  add(usd, "USD");
  add(second, "s");
  if (below.empty()) return above;
  return (above.empty() ? "1" : above) + "/" + below;
}

std::string format_dimension(double raw, int byte, int second, int flop, int token, int usd) {
  if (token == 0 && usd == 0) {
    if (byte == 1 && second == 0 && flop == 0) return format(Bytes<>(raw));
    if (byte == 0 && second == 1 && flop == 0) return format(Seconds<>(raw));
    if (byte == 1 && second == -1 && flop == 0) return format(BytesPerSecond<>(raw));
    if (byte == 0 && second == 0 && flop == 1) return format(Flops<>(raw));
    if (byte == 0 && second == -1 && flop == 1) return format(FlopsPerSecond<>(raw));
  }
  const std::string unit = unit_name(byte, second, flop, token, usd);
  return unit.empty() ? format_number(raw) : format_number(raw) + " " + unit;
}

std::optional<Bytes<>> parse_bytes(std::string_view text, double bare_unit) {
  static constexpr std::array<Prefix, 10> kSuffixes{{{1.0, "B"},
                                                     {1e3, "KB"},
                                                     {1e3, "kB"},
                                                     {1e6, "MB"},
                                                     {1e9, "GB"},
                                                     {1e12, "TB"},
                                                     {1024.0, "KiB"},
                                                     {1048576.0, "MiB"},
                                                     {1073741824.0, "GiB"},
                                                     {1099511627776.0, "TiB"}}};
  const auto v = scale(text, bare_unit, kSuffixes);
  return v ? std::optional(Bytes<>(*v)) : std::nullopt;
}

std::optional<Seconds<>> parse_seconds(std::string_view text, double bare_unit) {
  static constexpr std::array<Prefix, 7> kSuffixes{
      {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-6, "µs"}, {1e-9, "ns"}, {60.0, "min"}, {3600.0, "h"}}};
  const auto v = scale(text, bare_unit, kSuffixes);
  return v ? std::optional(Seconds<>(*v)) : std::nullopt;
}

std::optional<BytesPerSecond<>> parse_bandwidth(std::string_view text, double bare_unit) {
  static constexpr std::array<Prefix, 13> kSuffixes{{{1.0, "B/s"},
                                                     {1e6, "MB/s"},
                                                     {1e9, "GB/s"},
                                                     {1e12, "TB/s"},
                                                     {1048576.0, "MiB/s"},
                                                     {1073741824.0, "GiB/s"},
                                                     {1e6 / 8, "Mbit/s"},
                                                     {1e9 / 8, "Gbit/s"},
                                                     {1e12 / 8, "Tbit/s"},
                                                     {1e6 / 8, "Mb/s"},
                                                     {1e9 / 8, "Gb/s"},
                                                     {1e9 / 8, "Gbps"},
                                                     {1e12 / 8, "Tbps"}}};
  const auto v = scale(text, bare_unit, kSuffixes);
  return v ? std::optional(BytesPerSecond<>(*v)) : std::nullopt;
}

std::optional<FlopsPerSecond<>> parse_flops_per_s(std::string_view text, double bare_unit) {
  static constexpr std::array<Prefix, 6> kSuffixes{{{1e9, "GFLOP/s"},
                                                    {1e12, "TFLOP/s"},
                                                    {1e15, "PFLOP/s"},
                                                    {1e9, "GFLOPS"},
                                                    {1e12, "TFLOPS"},
                                                    {1e15, "PFLOPS"}}};
  const auto v = scale(text, bare_unit, kSuffixes);
  return v ? std::optional(FlopsPerSecond<>(*v)) : std::nullopt;
}

std::optional<BatchSize> parse_batch(std::string_view text) {
  static constexpr std::array<Prefix, 6> kTokenSuffixes{
      {{1.0, "tok"}, {1e3, "ktok"}, {1e3, "Ktok"}, {1e6, "Mtok"}, {1e9, "Gtok"}, {1.0, "tokens"}}};
  const auto number = split_number(text);
  if (!number) return std::nullopt;
  if (number->suffix.empty()) return BatchSize{number->value, false};
  const auto v = scale(text, 1.0, kTokenSuffixes);
  return v ? std::optional(BatchSize{*v, true}) : std::nullopt;
}

std::optional<double> parse_number(std::string_view text) {
  const auto number = split_number(text);
  if (!number || !number->suffix.empty()) return std::nullopt;
  return number->value;
}

std::optional<double> parse_count(std::string_view text, double bare_unit) {
  static constexpr std::array<Prefix, 5> kSuffixes{
      {{1e3, "K"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}, {1e9, "G"}}};
  return scale(text, bare_unit, kSuffixes);
}

std::string printable(std::string_view text) {
  constexpr unsigned char kSpace = 0x20, kDelete = 0x7f;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= kSpace && byte != kDelete) {
      shown += c;
    } else if (c == '\n') {
      shown += "\\n";
    } else {
      shown += "\\x";
      shown += kDigits[byte >> 4U];
      shown += kDigits[byte & 15U];
    }
  }
  return shown;
}

}  // namespace shardplan
