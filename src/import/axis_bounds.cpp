#include "import/axis_bounds.h"

#include <algorithm>
#include <array>

#include "import/flag_reader.h"
#include "import/json_text.h"
#include "import/limits.h"

namespace shardplan {
namespace {

constexpr std::array kDegrees{Degree::kDp,         Degree::kTp,        Degree::kPp,   Degree::kCp,
                              Degree::kEp,         Degree::kEtp,       Degree::kZero, Degree::kShardGroup,
                              Degree::kMicroBatch, Degree::kInterleave};

std::vector<std::string> degree_names() {
  std::vector<std::string> names;
  names.reserve(kDegrees.size());
  for (const Degree degree : kDegrees) names.emplace_back(name(degree));
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
  return all;
}

Result<Degree> degree_named(const char* flag, const std::string& typed) {
  const std::vector<std::string> names = degree_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == typed) return kDegrees[i];
  }
  return Error{"unknown_name", quoted_flag_text(typed) + " is no axis that can be bounded", flag,
               "one of " + joined(names), nearest_name(typed, names)};
}

/// What a plan does or does not, and how it is held at "does not".
struct Switch {
  const char* name;
  const char* off;
  bool (*forbid)(FixedAxes&);  // false where it was told to be on
};
template <class T>
bool hold(std::optional<T>& axis, T off) {
  if (axis && *axis != off) return false;
  axis = off;
  return true;
}
constexpr std::array kSwitches{
    Switch{"shard-group", "none", [](FixedAxes& a) { return hold(a.shard_group, std::int32_t{0}); }},
    Switch{"recompute", "none", [](FixedAxes& a) { return hold(a.recompute, Recompute::kNone); }},
    Switch{"sp", "off", [](FixedAxes& a) { return hold(a.sequence_parallel, false); }},
    Switch{"offload", "none", [](FixedAxes& a) { return hold(a.offload, std::uint8_t{0}); }}};

/// One name of --forbid. A switch that is forbidden is a sentence of `notes`.
std::optional<Error> forbid(const std::string& typed, FixedAxes& axes, std::vector<std::string>& notes) {
  std::vector<std::string> names = degree_names();
  for (const Switch& s : kSwitches) {
    if (std::find(names.begin(), names.end(), s.name) == names.end()) names.emplace_back(s.name);
    if (typed != s.name) continue;
    if (!s.forbid(axes)) {
      return Error{"conflict", typed + " is forbidden and told", "--" + typed, "one of them", ""};
    }
    notes.push_back("bounded: " + typed + " " + s.off);
    return std::nullopt;
  }
  const Result<Degree> degree = degree_named("--forbid", typed);
  if (degree) {
    axes.bounds_of(*degree).most = lowest(*degree);
    return std::nullopt;
  }
  return Error{"unknown_name", quoted_flag_text(typed) + " is no axis that can be forbidden", "--forbid",
               "one of " + joined(names), nearest_name(typed, names)};
}

struct Fixable {
  const char* name;
  QuestionSpec::Flag QuestionSpec::*text;
};
constexpr std::array kFixable{Fixable{"dp", &QuestionSpec::dp},
                              Fixable{"tp", &QuestionSpec::tp},
                              Fixable{"pp", &QuestionSpec::pp},
                              Fixable{"cp", &QuestionSpec::cp},
                              Fixable{"ep", &QuestionSpec::ep},
                              Fixable{"etp", &QuestionSpec::etp},
                              Fixable{"micro-batch", &QuestionSpec::micro_batch},
                              Fixable{"interleave", &QuestionSpec::interleave},
                              Fixable{"zero", &QuestionSpec::zero},
                              Fixable{"shard-group", &QuestionSpec::shard_group},
                              Fixable{"schedule", &QuestionSpec::schedule},
                              Fixable{"recompute", &QuestionSpec::recompute},
                              Fixable{"sp", &QuestionSpec::sp},
                              Fixable{"offload", &QuestionSpec::offload}};

/// "tp=2,pp=4": calls set(bounds, value) for each.
template <class Set>
std::optional<Error> read_pairs(const char* flag, const std::optional<std::string>& text, FixedAxes& axes,
                                Set set) {
  if (!text) return std::nullopt;
  for (const std::string& part : flag_parts(*text)) {
    const std::size_t at = part.find('=');
    if (at == std::string::npos) {
      return Error{"bad_value", quoted_flag_text(part) + " says no value", flag,
                   "axes and values, such as tp=2,pp=8", ""};
    }
    const Result<Degree> degree = degree_named(flag, part.substr(0, at));
    if (!degree) return degree.error();
    const std::int64_t most = *degree == Degree::kZero ? kZeroStageMax : kDegreeMax;
    const Result<std::int64_t> value = read_whole(flag, part.substr(at + 1), lowest(*degree), most);
    if (!value) return value.error();
    if (!set(axes.bounds_of(*degree), static_cast<std::int32_t>(*value))) {
      return Error{"conflict", std::string(name(*degree)) + " is bounded twice", flag, "each axis once", ""};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> read_bounds(const BoundTexts& texts, FixedAxes& axes) {
  constexpr DegreeBounds kNone;
  const auto least = [&](DegreeBounds& bounds, std::int32_t value) {
    const bool first = bounds.least == kNone.least;
    bounds.least = value;
    return first;
  };
  const auto most = [&](DegreeBounds& bounds, std::int32_t value) {
    const bool first = bounds.most == kNone.most;
    bounds.most = value;
    return first;
  };
  if (auto error = read_pairs("--min", texts.min, axes, least)) return *error;
  if (auto error = read_pairs("--max", texts.max, axes, most)) return *error;
  std::vector<std::string> notes;
  for (const std::string& part : texts.forbid ? flag_parts(*texts.forbid) : std::vector<std::string>{}) {
    if (auto error = forbid(part, axes, notes)) return *error;
  }
  for (const Degree degree : kDegrees) {
    const DegreeBounds& bounds = axes.bounds_of(degree);
    if (bounds.least <= lowest(degree) && bounds.most == kNone.most) continue;
    const std::string axis = name(degree), range = words(degree, bounds);
    if (bounds.least > bounds.most) {
      return Error{"bad_value",
                   axis + " cannot be at least " + std::to_string(bounds.least) + " and at most " +
                       std::to_string(bounds.most),
                   texts.forbid && bounds.most == lowest(degree) ? "--min, --forbid" : "--min, --max",
                   "a least value that is no more than the most", ""};
    }
    if (const auto value = axes.told(degree)) {
      if (bounds.hold(*value)) continue;  // a bound that says nothing more
      return Error{"bad_value",
                   axis + " is told to be " + std::to_string(*value) + ", which its bounds exclude",
                   "--" + axis, axis + " " + range + ", or no bound", ""};
    }
    notes.push_back("bounded: " + axis + " " + range);
  }
  return notes;
}

std::optional<Error> take_fixed(const std::optional<std::string>& text, QuestionSpec& spec) {
  constexpr const char* kFix = "--fix";
  for (const std::string& part : text ? flag_parts(*text) : std::vector<std::string>{}) {
    const std::size_t at = part.find('=');
    if (at == std::string::npos) {
      return Error{"bad_value", quoted_flag_text(part) + " says no value", kFix,
                   "axes and values, such as tp=8,pp=4; lists by the flag of their axis", ""};
    }
    const std::string axis = part.substr(0, at);
    const auto found =
        std::find_if(kFixable.begin(), kFixable.end(), [&](const Fixable& f) { return f.name == axis; });
    if (found == kFixable.end()) {
      std::vector<std::string> names;
      names.reserve(kFixable.size());
      for (const Fixable& f : kFixable) names.emplace_back(f.name);
      return Error{"unknown_name", quoted_flag_text(axis) + " is no axis of a plan", kFix,
                   "one of " + joined(names), nearest_name(axis, names)};
    }
    QuestionSpec::Flag& told = spec.*found->text;
    if (told)
      return Error{"conflict", axis + " is told twice", kFix, "each axis once, here or by --" + axis, ""};
    told = part.substr(at + 1);
  }
  return std::nullopt;
}

}  // namespace shardplan
