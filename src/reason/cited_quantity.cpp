#include "reason/cited_quantity.h"

#include <array>
#include <optional>

#include "units/format.h"

namespace shardplan {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// Letters of a unit; bytes above 127 are part of "µs".
bool is_unit_char(char c) {
  return is_letter(c) || c == '/' || c == '%' || static_cast<unsigned char>(c) > 127;
}

struct Word {
  const char* word;
  double factor;
  const char* unit;
};
constexpr std::array<Word, 21> kWords{{{"%", 0.01, "ratio"},        {"percent", 0.01, "ratio"},
                                       {"x", 1, "ratio"},           {"times", 1, "ratio"},
                                       {"GPU", 1, "GPUs"},          {"GPUs", 1, "GPUs"},
                                       {"token", 1, "tokens"},      {"tokens", 1, "tokens"},
                                       {"Mtokens", 1e6, "tokens"},  {"tok", 1, "tokens"},
                                       {"Mtok", 1e6, "tokens"},     {"parameters", 1, "parameters"},
                                       {"steps", 1, "steps"},       {"all-reduces", 1, "all-reduces"},
                                       {"replicas", 1, "replicas"}, {"sequences", 1, "sequences"},
                                       {"layers", 1, "layers"},     {"micro-batches", 1, "micro-batches"},
                                       {"stages", 1, "stages"},     {"seconds", 1, "s"},
                                       {"bytes", 1, "bytes"}}};

std::optional<CitedQuantity> quantity(const std::string& number, const std::string& unit) {
  const auto plain_number = parse_number(number);
  if (!plain_number || unit.empty()) return std::nullopt;
  for (const Word& w : kWords) {
    if (unit == w.word) return CitedQuantity{*plain_number * w.factor, w.unit};
  }
  // "65 B" is what a model has; nobody tells so few bytes.
  constexpr double kBillionsMost = 1e4, kBillion = 1e9;
  if (unit == "B" && *plain_number < kBillionsMost)
    return CitedQuantity{*plain_number * kBillion, "parameters"};
  // No device keeps so many, and no flag takes them: sums of a cluster do.
  constexpr double kPeta = 1e15, kPebi = 1125899906842624.0;
  if (unit == "PB") return CitedQuantity{*plain_number * kPeta, "bytes"};
  if (unit == "PiB") return CitedQuantity{*plain_number * kPebi, "bytes"};
  const std::string both = number + unit;
  if (const auto v = parse_bytes(both)) return CitedQuantity{v->raw(), "bytes"};
  if (const auto v = parse_seconds(both)) return CitedQuantity{v->raw(), "s"};
  if (const auto v = parse_bandwidth(both)) return CitedQuantity{v->raw(), "bytes/s"};
  if (const auto v = parse_flops_per_s(both)) return CitedQuantity{v->raw(), "FLOP/s"};
  return std::nullopt;
}

/// Digits with thousands separators and a decimal point from `at` on; moves `at` behind them.
std::string take_number(std::string_view text, std::size_t& at) {
  std::string number;
  while (at < text.size()) {
    const bool more = at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_digit(text[at]) || (text[at] == '.' && more)) {
      number += text[at++];
    } else if (text[at] == ',' && more) {
      ++at;
    } else {
      break;
    }
  }
  return number;
}

std::string take_unit(std::string_view text, std::size_t& at) {
  std::size_t from = at;
  while (from < text.size() && (text[from] == ' ' || text[from] == '-')) ++from;
  std::size_t to = from;
  while (to < text.size() && is_unit_char(text[to])) ++to;
  // "all-reduces", "micro-batches": a hyphen between letters is part of a noun.
  for (const std::string_view noun : {"all-reduces", "micro-batches"})
    if (text.substr(from).starts_with(noun)) to = from + noun.size();
  std::string unit(text.substr(from, to - from));
  while (!unit.empty() && unit.back() == '/') unit.pop_back();
  if (!unit.empty()) at = to;
  return unit;
}

}  // namespace

std::vector<CitedQuantity> cited_quantities(std::string_view text) {
  std::vector<CitedQuantity> found;
  std::size_t at = 0;
  while (at < text.size()) {
    // A digit inside a word ("bf16", "H100") starts no number.
    const bool inside_word =
        at > 0 && (is_letter(text[at - 1]) || is_digit(text[at - 1]) || text[at - 1] == '_');
    if (!is_digit(text[at]) || inside_word) {
      ++at;
      continue;
    }
    const std::string number = take_number(text, at);
    std::size_t behind = at;
    if (const auto q = quantity(number, take_unit(text, behind))) {
      found.push_back(*q);
      at = behind;
    }
  }
  return found;
}

}  // namespace shardplan
