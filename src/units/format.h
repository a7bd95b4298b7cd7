// Printing and parsing of quantities. A printed quantity always carries its unit.
//
//   format(mebibytes(64))                 "64 MiB"
//   format(milliseconds(551.25))          "551.3 ms"
//   parse_bytes("79.2GiB")                79.2 * 2^30 bytes
//   parse_bandwidth("400Gbit/s", 1e9)     50e9 bytes/s; a bare "50" takes the flag's unit, here GB/s
//
// Parsers return nothing on text they do not understand whole; the caller knows the flag and says so.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "units/quantity.h"

namespace shardplan {

/// Binary prefixes (what memory is compared in): "4.5 GiB".
std::string format(Bytes<> q);
/// Two decimals whatever the size, for figures that are held against each other: "325.96 GiB".
std::string format_gibibytes(Bytes<> q);
/// "551.3 ms", "71.1 us".
std::string format(Seconds<> q);
/// Of what is not a part of a step: "5.235 min", "3.093 h", "33 days"; as format() below a minute.
std::string format_duration(Seconds<> q);
/// Decimal prefixes, as link speeds are sold: "50 GB/s".
std::string format(BytesPerSecond<> q);
std::string format(FlopsPerSecond<> q);
std::string format(Flops<> q);
std::string format(Tokens<> q);
std::string format(TokensPerSecond<> q);
std::string format(Usd<> q);
/// "0.984", "64", no unit.
std::string format(Ratio<> q);

/// Four significant digits without trailing zeros, halves up: 551.3, 0.07017, 96. Large integers keep all
/// digits.
std::string format_number(double v);
/// The next value that prints in full, no smaller than `q`: what is needed is not rounded down.
BytesPerSecond<> rounded_up(BytesPerSecond<> q);
/// To the hundredth of a GiB that memory is compared in, on the side where what is said of it holds.
Bytes<> rounded_up(Bytes<> q);
Bytes<> rounded_down(Bytes<> q);
/// The last such value no larger than `q`: what may be had at most is not rounded up.
Seconds<> rounded_down(Seconds<> q);
/// "8,030,261,248".
std::string format_count(double v);
/// "1 GPU", "64 GPUs", "2 micro-batches": a whole number and its noun, with what the plural adds to it.
std::string counted(double n, std::string_view noun, std::string_view plural = "s");
template <std::integral Count>
std::string counted(Count n, std::string_view noun, std::string_view plural = "s") {
  return counted(static_cast<double>(n), noun, plural);
}
/// "98.4 %".
std::string format_percent(double share);

/// A text from elsewhere, fit for a terminal: control characters as "\\n" or "\\x1b".
std::string printable(std::string_view text);

/// The value in base units with its unit, for a dimension known only at run time (formula traces).
std::string format_dimension(double raw, int byte, int second, int flop, int token, int usd);
/// The base unit of a dimension: "bytes", "s", "FLOP/s", "" for a ratio.
std::string unit_name(int byte, int second, int flop, int token, int usd);

template <class D>
std::string unit_name() {
  return unit_name(D::byte, D::second, D::flop, D::token, D::usd);
}

/// `bare_unit` is what a number without suffix means, in base units (1e9 for a flag in GB/s).
std::optional<Bytes<>> parse_bytes(std::string_view text, double bare_unit = 1.0);
std::optional<Seconds<>> parse_seconds(std::string_view text, double bare_unit = 1.0);
std::optional<BytesPerSecond<>> parse_bandwidth(std::string_view text, double bare_unit = 1.0);
std::optional<FlopsPerSecond<>> parse_flops_per_s(std::string_view text, double bare_unit = 1.0);
/// "4Mtok", "131072tok", or a bare count of sequences: `is_tokens` tells which was written.
struct BatchSize {
  double value;
  bool is_tokens;
};
std::optional<BatchSize> parse_batch(std::string_view text);
/// A plain decimal number, whole text, finite.
std::optional<double> parse_number(std::string_view text);
/// "70B", "1.5T", "350M" or a bare number times `bare_unit`.
std::optional<double> parse_count(std::string_view text, double bare_unit = 1.0);

}  // namespace shardplan
