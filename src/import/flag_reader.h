// Reads the texts of flags as values. The first complaint is kept, later ones are dropped, and a flag that is
// absent or wrong reads as nothing: take all, check once.
//
//   FlagReader flags(spec);
//   std::optional<std::int64_t> gpus = flags.integer(&QuestionSpec::gpus, 1, kGpusMax);
//   if (flags.error()) return *flags.error();   // where: "--gpus", expected: "a whole number between ..."
//
// Not here: defaults, conflicts between flags (question.cpp).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/limits.h"
#include "import/question.h"
#include "units/format.h"

namespace shardplan {

/// As it is shown in an error: in quotes, cut when it is long.
std::string quoted_flag_text(const std::string& typed);

/// "one of 1f1b, zb-v"
std::string one_of(const std::vector<std::string>& names);

/// What commas join; an empty part where nothing is beside one.
std::vector<std::string> flag_parts(const std::string& typed);
/// The first part that comes twice; empty ones are wrong in another way.
std::optional<std::string> repeated_part(const std::vector<std::string>& parts);

// Axes of which a search takes several values: a list, or "any" for all of them.
inline constexpr const char* kAnyValue = "any";
bool names_several(const std::string& typed);
/// What such a flag takes; one question alone takes one value.
std::string expected_values(const std::vector<std::string>& names, Purpose purpose);
/// What no list of them may be: a value twice, "any" beside others.
std::optional<Error> list_error(const char* flag, const std::vector<std::string>& parts);

/// The text of one flag as a quantity within limits; the error names the flag and what it takes.
template <class Q>
Result<Q> read_flag(const char* flag, const std::string& typed,
                    std::optional<Q> (*parse)(std::string_view, double), double bare_unit,
                    const Limits& limits, const char* expected) {
  const std::optional<Q> v = parse(typed, bare_unit);
  if (!v) return Error{"bad_value", quoted_flag_text(typed) + " is not understood", flag, expected, ""};
  if (limits.hold(v->raw())) return *v;
  return Error{
      "out_of_range",
      quoted_flag_text(typed) + (std::isinf(v->raw()) ? "" : " is " + format(*v) + ",") + " out of range",
      flag, std::string(expected) + ", between " + format(Q(limits.low)) + " and " + format(Q(limits.high)),
      ""};
}

/// The same for a count.
Result<std::int64_t> read_whole(const char* flag, const std::string& typed, std::int64_t low,
                                std::int64_t high);

/// The same for a switch.
Result<bool> read_switch(const char* flag, const std::string& typed);

class FlagReader {
 public:
  using Member = QuestionSpec::Flag QuestionSpec::*;

  explicit FlagReader(const QuestionSpec& spec) : spec_(spec) {}
  const std::optional<Error>& error() const { return error_; }
  void fail(Error error);
  void fail(Member flag, std::string code, std::string message, std::string expected,
            std::string nearest = "");

  const std::optional<std::string>& text(Member flag) const { return spec_.*flag; }
  bool told(Member flag) const { return (spec_.*flag).has_value(); }
  /// The first flag of the list that was told, or nullptr.
  Member first_told(std::initializer_list<Member> flags) const;

  std::optional<std::int64_t> integer(Member flag, std::int64_t low, std::int64_t high);
  std::optional<std::int32_t> degree(Member flag);
  /// --params: a bare number is in billions.
  std::optional<double> parameters(Member flag);
  std::optional<Bytes<>> gibibytes_of(Member flag, const Limits& limits);
  std::optional<BytesPerSecond<>> gigabytes_per_s_of(Member flag, const Limits& limits);
  std::optional<Seconds<>> microseconds_of(Member flag, const Limits& limits);
  std::optional<FlopsPerSecond<>> teraflops_of(Member flag, const Limits& limits);
  std::optional<bool> boolean(Member flag);

  /// A value of an enum by name; names in any case, "_" and "-" alike.
  template <class Enum>
  std::optional<Enum> choice(Member flag, std::initializer_list<Enum> values) {
    if (!told(flag)) return std::nullopt;
    std::vector<std::string> names;
    for (const Enum v : values) names.push_back(name(v));
    const std::optional<std::size_t> at = index_of(flag, names, one_of(names));
    return at ? std::optional(*(values.begin() + *at)) : std::nullopt;
  }
  /// The same, of names.
  std::optional<std::size_t> index_of(Member flag, const std::vector<std::string>& names,
                                      const std::string& expected);

 private:
  template <class Q>
  std::optional<Q> quantity(Member flag, std::optional<Q> (*parse)(std::string_view, double),
                            double bare_unit, const Limits& limits, const char* expected);

  const QuestionSpec& spec_;
  std::optional<Error> error_;
};

/// "--kv-heads" of &QuestionSpec::kv_heads.
const char* flag_name(FlagReader::Member flag);

}  // namespace shardplan
