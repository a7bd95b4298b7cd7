#include "import/axis_bounds.h"

#include <algorithm>
#include <array>

#include "import/flag_reader.h"
#include "import/json_text.h"
#include "import/limits.h"
#include "import/question_plan.h"
#include "import/question_workload.h"

namespace shardplan {
namespace {

constexpr std::array kDegrees{Degree::kDp,         Degree::kTp,          Degree::kPp,
                              Degree::kCp,         Degree::kEp,          Degree::kEtp,
                              Degree::kZero,       Degree::kShardGroup,  Degree::kMicroBatch,
                              Degree::kInterleave, Degree::kFirstLayers, Degree::kLastLayers};
constexpr const char* kForbid = "--forbid";

std::vector<std::string> degree_names() {
  std::vector<std::string> names;
  names.reserve(kDegrees.size());
  for (const Degree degree : kDegrees) names.emplace_back(name(degree));
  return names;
}

Result<Degree> degree_named(const char* flag, const std::string& typed) {
  const std::vector<std::string> names = degree_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == typed) return kDegrees[i];
  }
  return Error{"unknown_name", quoted_flag_text(typed) + " is no axis that can be bounded", flag,
               one_of(names), nearest_name(typed, names)};
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
    Switch{"offload", "none", [](FixedAxes& a) { return hold(a.offload, std::uint8_t{0}); }},
    Switch{"rank-order", "tp-cp-dp-pp", [](FixedAxes& a) { return hold(a.rank_order, RankOrder{}); }},
    Switch{"first-layers", "as the others",
           [](FixedAxes& a) { return hold(a.first_layers, std::int32_t{0}); }},
    Switch{"last-layers", "as the others",
           [](FixedAxes& a) { return hold(a.last_layers, std::int32_t{0}); }}};

/// What --forbid takes.
std::vector<std::string> forbidden_names() {
  std::vector<std::string> names = degree_names();
  for (const Switch& s : kSwitches)
    if (std::find(names.begin(), names.end(), s.name) == names.end()) names.emplace_back(s.name);
  return names;
}

Error no_entry(const char* flag, const std::string& expected) {
  return {"bad_value", "an entry is empty", flag, expected, ""};
}

/// One name of --forbid. A switch that is forbidden is a sentence of `notes`.
std::optional<Error> forbid(const std::string& typed, FixedAxes& axes, std::vector<std::string>& notes) {
  for (const Switch& s : kSwitches) {
    if (typed != s.name) continue;
    if (!s.forbid(axes)) {
      return Error{"conflict", typed + " is forbidden and told", "--" + typed, "one of them", ""};
    }
    notes.push_back("bounded: " + typed + " " + s.off);
    return std::nullopt;
  }
  if (const Result<Degree> degree = degree_named(kForbid, typed)) {
    axes.bounds_of(*degree).most = lowest(*degree);
    return std::nullopt;
  }
  const std::vector<std::string> names = forbidden_names();
  if (typed.empty()) return no_entry(kForbid, "axes joined by commas, such as cp,ep");
  return Error{"unknown_name", quoted_flag_text(typed) + " is no axis that can be forbidden", kForbid,
               one_of(names) + ", or a value: precision=fp8, schedule=zb-v, rank-order=tp-cp-pp-dp",
               nearest_name(typed, names)};
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
                              Fixable{"first-layers", &QuestionSpec::first_layers},
                              Fixable{"last-layers", &QuestionSpec::last_layers},
                              Fixable{"schedule", &QuestionSpec::schedule},
                              Fixable{"recompute", &QuestionSpec::recompute},
                              Fixable{"sp", &QuestionSpec::sp},
                              Fixable{"offload", &QuestionSpec::offload},
                              Fixable{"rank-order", &QuestionSpec::rank_order},
                              Fixable{"precision", &QuestionSpec::precision}};

/// The axis whose value a text is that names none.
std::string axis_of_value(const std::string& typed) {
  const std::string key = name_key(typed);
  if (schedule_named(key)) return "schedule=" + key;
  if (precision_recipe_named(key)) return "precision=" + key;
  if (rank_order_named(key)) return "rank-order=" + key;
  if (recompute_named(key)) return "recompute=" + key;
  return "";
}

struct Assignment {
  std::string axis, value;
};
/// "tp=2"
Result<Assignment> read_assignment(const char* flag, const std::string& part, const std::string& expected) {
  if (part.empty()) return no_entry(flag, expected);
  const std::size_t at = part.find('=');
  if (at != std::string::npos) return Assignment{part.substr(0, at), part.substr(at + 1)};
  return Error{"bad_value", quoted_flag_text(part) + " is no axis with a value", flag, expected,
               axis_of_value(part)};
}

/// "tp=2,pp=4": calls set(bounds, value) for each.
template <class Set>
std::optional<Error> read_pairs(const char* flag, const std::optional<std::string>& text, FixedAxes& axes,
                                Set set) {
  if (!text) return std::nullopt;
  for (const std::string& part : flag_parts(*text)) {
    const Result<Assignment> told =
        read_assignment(flag, part, "axes and values joined by commas, such as tp=2,pp=8");
    if (!told) return told.error();
    const Result<Degree> degree = degree_named(flag, told->axis);
    if (!degree) return degree.error();
    const std::string where = flag + (" " + told->axis);
    const std::int64_t most = *degree == Degree::kZero ? kZeroStageMax : kDegreeMax;
    const Result<std::int64_t> value = read_whole(where.c_str(), told->value, lowest(*degree), most);
    if (!value) return value.error();
    if (!set(axes.bounds_of(*degree), static_cast<std::int32_t>(*value))) {
      return Error{"conflict", told->axis + " is bounded twice", flag, "each axis once", ""};
    }
  }
  return std::nullopt;
}

/// The value of an entry of --forbid such as "precision=fp8", by the reader of its axis.
template <class T, class Read>
std::optional<Error> take_value(const Assignment& entry, std::vector<T>& values, Read read,
                                const std::string& expected) {
  const std::optional<T> value = read(name_key(entry.value));
  const std::string where = kForbid + (" " + entry.axis);
  if (!value) {
    return Error{"unknown_name", quoted_flag_text(entry.value) + " is not one of its values", where, expected,
                 ""};
  }
  if (std::find(values.begin(), values.end(), *value) != values.end())
    return Error{"conflict", entry.value + " is forbidden twice", where, "each value once", ""};
  values.push_back(*value);
  return std::nullopt;
}

/// Takes forbidden values out of those that are searched; `told` is the one that is told, if any.
template <class T>
std::optional<Error> take_out(const char* axis, const std::vector<T>& forbidden, const std::optional<T>& told,
                              std::vector<T>& searched) {
  const auto is_out = [&](const T& value) {
    return std::find(forbidden.begin(), forbidden.end(), value) != forbidden.end();
  };
  const std::string flag = std::string("--") + axis;
  if (told && is_out(*told))
    return Error{"conflict", std::string(axis) + " " + name(*told) + " is forbidden and told", flag,
                 "one of them", ""};
  if (told || forbidden.empty()) return std::nullopt;
  std::erase_if(searched, is_out);
  if (!searched.empty()) return std::nullopt;
  return Error{"conflict", std::string("every ") + axis + " that is searched is forbidden",
               kForbid + (" " + std::string(axis)), "one that is not", ""};
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
    if (part.find('=') != std::string::npos) continue;  // a value: read_forbidden
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

Result<ForbiddenValues> read_forbidden(const BoundTexts& texts) {
  ForbiddenValues values;
  for (const std::string& part : texts.forbid ? flag_parts(*texts.forbid) : std::vector<std::string>{}) {
    const std::size_t at = part.find('=');
    if (at == std::string::npos) continue;
    const Assignment entry{part.substr(0, at), part.substr(at + 1)};
    std::optional<Error> error;
    if (entry.axis == "precision") {
      error = take_value(entry, values.precisions, precision_recipe_named, one_of(precision_names()));
    } else if (entry.axis == "schedule") {
      error = take_value(entry, values.schedules, schedule_named, one_of(schedule_names()));
    } else if (entry.axis == "rank-order") {
      error = take_value(entry, values.rank_orders, rank_order_named,
                         "tp, cp, dp and pp, the innermost first: tp-cp-dp-pp");
    } else {
      error = Error{"unknown_name", quoted_flag_text(entry.axis) + " has no values that can be forbidden",
                    kForbid,
                    "one of precision=..., schedule=..., rank-order=...; other axes by their names alone",
                    nearest_name(entry.axis, {"precision", "schedule", "rank-order"})};
    }
    if (error) return *error;
  }
  return values;
}

std::optional<Error> take_out_forbidden(const ForbiddenValues& values, Question& q) {
  Framework::Engine& engine = q.framework.engine;
  if (q.fixed.interleave.value_or(1) > 1 && values.holds(Schedule::kInterleaved))
    return Error{"conflict",
                 "schedule interleaved is forbidden, which interleave " +
                     std::to_string(*q.fixed.interleave) + " needs",
                 "--interleave", "--interleave 1, or neither", ""};
  if (auto error = take_out("schedule", values.schedules, q.fixed.schedule, engine.schedules)) return error;
  if (auto error = take_out("rank-order", values.rank_orders, q.fixed.rank_order, engine.rank_orders))
    return error;
  for (const Schedule s : values.schedules)
    q.notes.push_back(std::string("bounded: schedule not ") + name(s));
  for (const RankOrder order : values.rank_orders)
    q.notes.push_back("bounded: rank-order not " + name(order));
  for (const PrecisionRecipe p : values.precisions)
    q.notes.push_back(std::string("bounded: precision not ") + name(p));
  return std::nullopt;
}

Result<std::vector<std::string>> take_fixed(const std::optional<std::string>& text, QuestionSpec& spec) {
  constexpr const char* kFix = "--fix";
  std::vector<std::string> axes;
  for (const std::string& part : text ? flag_parts(*text) : std::vector<std::string>{}) {
    const Result<Assignment> entry = read_assignment(
        kFix, part, "axes and values joined by commas, such as tp=8,pp=4; lists by the flag of their axis");
    if (!entry) return entry.error();
    const std::string& axis = entry->axis;
    const auto found =
        std::find_if(kFixable.begin(), kFixable.end(), [&](const Fixable& f) { return f.name == axis; });
    if (found == kFixable.end()) {
      std::vector<std::string> names;
      names.reserve(kFixable.size());
      for (const Fixable& f : kFixable) names.emplace_back(f.name);
      return Error{"unknown_name", quoted_flag_text(axis) + " is no axis of a plan", kFix, one_of(names),
                   nearest_name(axis, names)};
    }
    QuestionSpec::Flag& told = spec.*found->text;
    if (told)
      return Error{"conflict", axis + " is told twice", kFix, "each axis once, here or by --" + axis, ""};
    told = entry->value;
    axes.push_back(axis);
  }
  return axes;
}

Error as_typed(Error error, const std::vector<std::string>& in_fix) {
  std::string where;
  for (std::size_t from = 0; from <= error.where.size();) {
    const std::size_t to = std::min(error.where.find(", ", from), error.where.size());
    std::string flag = error.where.substr(from, to - from);
    for (const std::string& axis : in_fix)
      if (flag == "--" + axis) flag = "--fix " + axis;
    where += (where.empty() ? "" : ", ") + flag;
    from = to + 2;
  }
  error.where = where;
  return error;
}

std::vector<ToldAxis> told_axes(const QuestionSpec& spec, const std::vector<std::string>& in_fix,
                                const BoundTexts& bounds) {
  std::vector<ToldAxis> told;
  for (const Fixable& f : kFixable)
    if (spec.*f.text) told.push_back({f.name, std::string("--") + f.name});
  for (const std::string& axis : in_fix) told.push_back({axis, "--fix " + axis});
  for (const auto& [flag, text] :
       {std::pair{"--min ", &bounds.min}, {"--max ", &bounds.max}, {"--forbid ", &bounds.forbid}}) {
    for (const std::string& part : *text ? flag_parts(**text) : std::vector<std::string>{}) {
      const std::string axis = part.substr(0, part.find('='));
      told.push_back({axis, flag + axis});
    }
  }
  return told;
}

}  // namespace shardplan
