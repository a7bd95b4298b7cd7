#include "import/flag_reader.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "import/json_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kBillion = 1e9, kGiB = 1073741824.0, kGB = 1e9, kMicro = 1e-6, kTera = 1e12;

}  // namespace

std::string quoted_flag_text(const std::string& typed) {
  constexpr std::size_t kLongest = 60;
  return "\"" + (typed.size() > kLongest ? typed.substr(0, kLongest) + "..." : typed) + "\"";
}

std::string one_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "one of " : ", ") + name;
  return list;
}

std::vector<std::string> flag_parts(const std::string& typed) {
  std::vector<std::string> parts;
  std::istringstream in(typed);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  if (typed.empty() || typed.back() == ',') parts.emplace_back();
  return parts;
}

std::optional<std::string> repeated_part(const std::vector<std::string>& parts) {
  for (auto part = parts.begin(); part != parts.end(); ++part)
    if (!part->empty() && std::find(parts.begin(), part, *part) != part) return *part;
  return std::nullopt;
}

bool names_several(const std::string& typed) {
  return name_key(typed) == kAnyValue || typed.find(',') != std::string::npos;
}

std::string expected_values(const std::vector<std::string>& names, Purpose purpose) {
  const bool searched = purpose == Purpose::kPlan || purpose == Purpose::kSizes;
  return one_of(names) + (searched ? ", several of them joined by commas, or any" : "");
}

std::optional<Error> list_error(const char* flag, const std::vector<std::string>& parts) {
  if (const auto twice = repeated_part(parts))
    return Error{"conflict", *twice + " is named twice", flag, "each of them once", ""};
  if (parts.size() == 1 || std::find(parts.begin(), parts.end(), kAnyValue) == parts.end())
    return std::nullopt;
  return Error{"conflict", "\"any\" stands for all of them, and others are named beside it", flag,
               "any alone, or those that are meant", ""};
}

Result<std::int64_t> read_whole(const char* flag, const std::string& typed, std::int64_t low,
                                std::int64_t high) {
  const std::string expected =
      "a whole number between " + std::to_string(low) + " and " + std::to_string(high);
  const std::optional<double> v = parse_number(typed);
  if (!v || *v != std::floor(*v)) {
    return Error{"bad_value", quoted_flag_text(typed) + " is not a whole number", flag, expected, ""};
  }
  if (*v < static_cast<double>(low) || *v > static_cast<double>(high)) {
    return Error{"out_of_range", quoted_flag_text(typed) + " is out of range", flag, expected, ""};
  }
  return static_cast<std::int64_t>(*v);
}

Result<bool> read_switch(const char* flag, const std::string& typed) {
  const std::string key = name_key(typed);
  for (const char* yes : {"on", "true", "yes", "1"}) {
    if (key == yes) return true;
  }
  for (const char* no : {"off", "false", "no", "0"}) {
    if (key == no) return false;
  }
  return Error{"bad_value", quoted_flag_text(typed) + " is neither on nor off", flag, "on or off", ""};
}

const char* flag_name(FlagReader::Member flag) {
  for (const QuestionFlag& f : question_flags()) {
    if (f.text == flag) return f.flag;
  }
  return "?";
}

void FlagReader::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void FlagReader::fail(Member flag, std::string code, std::string message, std::string expected,
                      std::string nearest) {
  fail(Error{std::move(code), std::move(message), flag_name(flag), std::move(expected), std::move(nearest)});
}

FlagReader::Member FlagReader::first_told(std::initializer_list<Member> flags) const {
  for (const Member flag : flags) {
    if (told(flag)) return flag;
  }
  return nullptr;
}

std::optional<std::int64_t> FlagReader::integer(Member flag, std::int64_t low, std::int64_t high) {
  if (!told(flag)) return std::nullopt;
  const Result<std::int64_t> read = read_whole(flag_name(flag), *text(flag), low, high);
  if (read) return *read;
  fail(read.error());
  return std::nullopt;
}

std::optional<std::int32_t> FlagReader::degree(Member flag) {
  const auto v = integer(flag, 1, kDegreeMax);
  return v ? std::optional(static_cast<std::int32_t>(*v)) : std::nullopt;
}

std::optional<double> FlagReader::parameters(Member flag) {
  if (!told(flag)) return std::nullopt;
  const std::string expected = "billions, such as 65, or with a suffix: 65B, 350M, 1.5T";
  const std::optional<double> v = parse_count(*text(flag), kBillion);
  if (!v) fail(flag, "bad_value", quoted_flag_text(*text(flag)) + " is not a number of parameters", expected);
  if (v && !kParameterLimits.hold(*v)) {
    fail(flag, "out_of_range", quoted_flag_text(*text(flag)) + " is " + format_number(*v) + " parameters",
         expected);
    return std::nullopt;
  }
  return v;
}

template <class Q>
std::optional<Q> FlagReader::quantity(Member flag, std::optional<Q> (*parse)(std::string_view, double),
                                      double bare_unit, const Limits& limits, const char* expected) {
  if (!told(flag)) return std::nullopt;
  const Result<Q> read = read_flag<Q>(flag_name(flag), *text(flag), parse, bare_unit, limits, expected);
  if (read) return *read;
  fail(read.error());
  return std::nullopt;
}

std::optional<Bytes<>> FlagReader::gibibytes_of(Member flag, const Limits& limits) {
  return quantity(flag, parse_bytes, kGiB, limits, "GiB, such as 79.2, or with a unit: 79.2GiB");
}
std::optional<BytesPerSecond<>> FlagReader::gigabytes_per_s_of(Member flag, const Limits& limits) {
  return quantity(flag, parse_bandwidth, kGB, limits, "GB/s per GPU, such as 50, or with a unit: 400Gbit/s");
}
std::optional<Seconds<>> FlagReader::microseconds_of(Member flag, const Limits& limits) {
  return quantity(flag, parse_seconds, kMicro, limits, "microseconds, such as 15, or with a unit: 15us");
}
std::optional<FlopsPerSecond<>> FlagReader::teraflops_of(Member flag, const Limits& limits) {
  return quantity(flag, parse_flops_per_s, kTera, limits, "TFLOP/s, such as 400, or with a unit: 1.2PFLOP/s");
}

std::optional<bool> FlagReader::boolean(Member flag) {
  if (!told(flag)) return std::nullopt;
  const Result<bool> read = read_switch(flag_name(flag), *text(flag));
  if (read) return *read;
  fail(read.error());
  return std::nullopt;
}

std::optional<std::size_t> FlagReader::index_of(Member flag, const std::vector<std::string>& names,
                                                const std::string& expected) {
  const std::string key = name_key(*text(flag));
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == key) return i;
  fail(flag, "unknown_name", quoted_flag_text(*text(flag)) + " is not one of its values", expected,
       nearest_name(key, names));
  return std::nullopt;
}

}  // namespace shardplan
