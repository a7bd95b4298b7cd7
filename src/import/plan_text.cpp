#include "import/plan_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>
#include <vector>

#include "catalog/saturating.h"
#include "import/catalog.h"
#include "import/flag_reader.h"
#include "import/json_node.h"
#include "import/json_text.h"
#include "import/limits.h"

namespace shardplan {
namespace {

constexpr std::string_view kDot = "·";
constexpr const char* kForms = "axes and degrees such as tp8.pp4.dp16.z1.mb2, or a file of plan --json";
constexpr std::int64_t kSequencesMax = 1'000'000'000;
constexpr std::int64_t kLayersMax = std::numeric_limits<std::int16_t>::max();

/// A degree: how canonical() spells it, how people do, what it may be, where it goes.
struct Count {
  const char* name;
  const char* full;
  std::int64_t least, most;
  void (*set)(PlanText&, std::int64_t);
  bool (*told)(const PlanText&);
};
template <auto Member>
constexpr Count axis(const char* name, const char* full, std::int64_t least, std::int64_t most) {
  return {name,
          full,
          least,
          most,
          [](PlanText& t, std::int64_t v) {
            auto& told = t.axes.*Member;
            told = static_cast<typename std::decay_t<decltype(told)>::value_type>(v);
          },
          [](const PlanText& t) { return (t.axes.*Member).has_value(); }};
}
template <auto Member>
constexpr Count other(const char* name, const char* full, std::int64_t least, std::int64_t most) {
  return {name,
          full,
          least,
          most,
          [](PlanText& t, std::int64_t v) {
            auto& told = t.*Member;
            told = static_cast<typename std::decay_t<decltype(told)>::value_type>(v);
          },
          [](const PlanText& t) { return (t.*Member).has_value(); }};
}
constexpr std::array kCounts{
    axis<&FixedAxes::dp>("dp", "dp", 1, kDegreeMax),
    axis<&FixedAxes::tp>("tp", "tp", 1, kDegreeMax),
    axis<&FixedAxes::pp>("pp", "pp", 1, kDegreeMax),
    axis<&FixedAxes::cp>("cp", "cp", 1, kDegreeMax),
    axis<&FixedAxes::ep>("ep", "ep", 1, kDegreeMax),
    axis<&FixedAxes::etp>("etp", "etp", 1, kDegreeMax),
    axis<&FixedAxes::zero_stage>("z", "zero", 0, kZeroStageMax),
    axis<&FixedAxes::micro_batch>("mb", "micro-batch", 1, kDegreeMax),
    axis<&FixedAxes::shard_group>("sg", "shard-group", 1, kDegreeMax),
    other<&PlanText::grad_accumulation>("ga", "grad-accumulation", 1,
                                        std::numeric_limits<std::int32_t>::max()),
    axis<&FixedAxes::interleave>("v", "interleave", 1, kDegreeMax),
    other<&PlanText::micro_batch_group>("group", "micro-batch-group", 1, kDegreeMax),
    other<&PlanText::first_layers>("first", "first-layers", 0, kLayersMax),
    other<&PlanText::last_layers>("last", "last-layers", 0, kLayersMax),
};

/// Reads the parts of one text; keeps the first error.
class Reader {
 public:
  explicit Reader(const std::string& where) { text_.where = where; }

  /// A part of a text.
  void read(const std::string& part) {
    text_.spelled += std::string(text_.spelled.empty() ? "" : kDot) + part;
    take(part);
  }

  void take(const std::string& part) {
    const std::size_t equals = part.find('=');
    if (equals != std::string::npos) return take_named(part, part.substr(0, equals), part.substr(equals + 1));
    if (take_switch(part) || take_count(part) || take_recompute(part)) return;
    if (const auto schedule = schedule_named(part)) return tell(part, text_.axes.schedule, *schedule);
    if (const auto order = rank_order_named(part)) return tell(part, text_.axes.rank_order, *order);
    if (take_offload(part)) return;
    fail(part, "unknown_name", "is no part of a plan", nearest_name(letters(part), names()));
  }

  /// "recompute=full", "zero=3": by the names of the flags.
  void take_named(const std::string& part, const std::string& name, const std::string& value) {
    if (name == "recompute" && value == "none") return tell(part, text_.axes.recompute, Recompute::kNone);
    if (name == "offload" && value == "none") return tell(part, text_.axes.offload, std::uint8_t{0});
    if (name == "sp" && value == "on") return tell(part, text_.axes.sequence_parallel, true);
    if (name == "sp" && value == "off") return tell(part, text_.axes.sequence_parallel, false);
    if (name == "schedule" || name == "rank-order" || name == "recompute") return take(value);
    if (name == "offload") return take("offload:" + value);
    const auto at = std::find_if(kCounts.begin(), kCounts.end(),
                                 [&](const Count& c) { return name == c.name || name == c.full; });
    if (at != kCounts.end()) return take_value(part, *at, value);
    fail(part, "unknown_name", "is no part of a plan", nearest_name(name, names()));
  }

  Result<PlanText> result() {
    if (error_) return *error_;
    const FixedAxes& axes = text_.axes;
    refuse_beyond_counting();
    if (error_) return *error_;
    text_.whole = axes.dp && axes.zero_stage && axes.micro_batch;
    if (text_.whole) {
      tell_the_rest();
      text_.spelled = canonical(text_.as_plan());
    } else if (text_.spelled.empty()) {
      text_.spelled = text_.where;
    }
    return std::move(text_);
  }

 private:
  static std::string letters(const std::string& part) {
    return part.substr(0, part.find_first_of("0123456789:"));
  }
  static std::vector<std::string> names() {
    std::vector<std::string> all{"recompute=none", "offload=none", "selective", "full",
                                 "nosp",           "sp",           "offload"};
    for (const Count& count : kCounts) {
      all.emplace_back(count.name);
      all.emplace_back(count.full);
    }
    for (const Schedule s : kSchedules) all.emplace_back(name(s));
    for (int i = 0; i < kModuleCount; ++i) all.emplace_back(name(static_cast<Module>(1 << i)));
    return all;
  }

  void fail(const std::string& part, const char* code, const std::string& message,
            const std::string& nearest) {
    if (!error_) error_ = Error{code, quoted_flag_text(part) + " " + message, text_.where, kForms, nearest};
  }
  template <class T>
  void tell(const std::string& part, std::optional<T>& axis, T value) {
    if (axis) return fail(part, "conflict", "is told beside another of its kind", "");
    axis = value;
  }

  bool take_switch(const std::string& part) {
    if (part != "sp" && part != "nosp") return false;
    tell(part, text_.axes.sequence_parallel, part == "sp");
    return true;
  }

  /// "tp8", "zero3"
  bool take_count(const std::string& part) {
    const std::string name = letters(part);
    for (const Count& count : kCounts) {
      if (name != count.name && name != count.full) continue;
      take_value(part, count, part.substr(name.size()));
      return true;
    }
    return false;
  }
  void take_value(const std::string& part, const Count& count, const std::string& digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool number = !digits.empty() && end == digits.data() + digits.size();
    if (!number || error != std::errc{} || value < count.least || value > count.most) {
      return fail(part, number ? "out_of_range" : "bad_value",
                  std::string("says no ") + count.full + " between " + std::to_string(count.least) + " and " +
                      std::to_string(count.most),
                  "");
    }
    if (count.told(text_)) return fail(part, "conflict", std::string("tells ") + count.full + " twice", "");
    count.set(text_, value);
  }

  /// "full", "full:4", and modules, which canonical() joins by commas as others do their axes.
  bool take_recompute(const std::string& part) {
    auto& told = text_.axes.recompute;
    const auto named = recompute_named(part);
    if (!named || part == "none") return false;
    const bool module = module_named(part).has_value();
    if (module && told && told->kind == Recompute::Kind::kModules && !told->has(*module_named(part))) {
      told->modules = static_cast<std::uint8_t>(told->modules | named->modules);
    } else {
      tell(part, told, *named);
    }
    return true;
  }

  /// "offload:optimizer", and further names after it.
  bool take_offload(const std::string& part) {
    constexpr std::string_view kPrefix = "offload:";
    const bool first = part.starts_with(kPrefix);
    const auto named = offload_named(first ? part.substr(kPrefix.size()) : part);
    auto& told = text_.axes.offload;
    if (!named || *named == 0 || (!first && !told)) return false;
    if (told && (*told & *named) == 0) {
      told = static_cast<std::uint8_t>(*told | *named);
    } else {
      tell(part, told, *named);
    }
    return true;
  }

  /// Degrees whose products no cluster and no batch has.
  void refuse_beyond_counting() {
    const FixedAxes& a = text_.axes;
    const auto of = [](const std::optional<std::int32_t>& told) { return std::int64_t{told.value_or(1)}; };
    const auto refuse = [&](std::int64_t product, std::int64_t most, const char* what) {
      if (product <= most || error_) return;
      error_ = Error{"out_of_range", text_.spelled + " has more " + what + " than " + std::to_string(most),
                     text_.where, kForms, ""};
    };
    refuse(product(of(a.dp), of(a.tp), of(a.pp), of(a.cp)), kGpusMax, "GPUs");
    refuse(product(of(a.dp), of(a.micro_batch), of(text_.grad_accumulation)), kSequencesMax, "sequences");
    refuse(product(of(a.ep), of(a.etp)), kGpusMax, "expert ranks");
    refuse(product(of(a.pp), of(a.interleave)), kGpusMax, "chunks");
  }

  /// What canonical() leaves out.
  void tell_the_rest() {
    FixedAxes& a = text_.axes;
    for (auto* degree : {&a.tp, &a.pp, &a.cp, &a.ep, &a.etp, &a.interleave}) *degree = degree->value_or(1);
    a.shard_group = a.shard_group.value_or(0);
    a.schedule = a.schedule.value_or(*a.interleave > 1 ? Schedule::kInterleaved : Schedule::k1F1B);
    a.recompute = a.recompute.value_or(Recompute::kNone);
    a.sequence_parallel = a.sequence_parallel.value_or(*a.tp > 1);
    a.offload = a.offload.value_or(0);
    a.rank_order = a.rank_order.value_or(RankOrder{});
  }

  PlanText text_;
  std::optional<Error> error_;
};

/// What dots of either kind and commas separate; white space around them does not matter.
std::vector<std::string> parts_of(std::string_view typed) {
  std::string text(typed);
  for (std::size_t at = 0; (at = text.find(kDot, at)) != std::string::npos;)
    text.replace(at, kDot.size(), ",");
  std::replace(text.begin(), text.end(), '.', ',');
  std::vector<std::string> parts = flag_parts(text);
  for (std::string& part : parts) {
    constexpr const char* kSpace = " \t\r\n";
    part.erase(0, std::min(part.find_first_not_of(kSpace), part.size()));
    part.erase(part.find_last_not_of(kSpace) + 1);
    std::transform(part.begin(), part.end(), part.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  return parts;
}

struct Key {
  const char* key;
  const char* name;  // as take_named() takes it
};
constexpr std::array kIntegers{Key{"dp", "dp"},
                               Key{"tp", "tp"},
                               Key{"pp", "pp"},
                               Key{"cp", "cp"},
                               Key{"ep", "ep"},
                               Key{"etp", "etp"},
                               Key{"zero_stage", "zero"},
                               Key{"micro_batch", "micro-batch"},
                               Key{"grad_accumulation", "grad-accumulation"},
                               Key{"interleave", "interleave"},
                               Key{"shard_group", "shard-group"},
                               Key{"first_layers", "first-layers"},
                               Key{"last_layers", "last-layers"}};
constexpr std::array kTexts{Key{"schedule", "schedule"}, Key{"recompute", "recompute"},
                            Key{"rank_order", "rank-order"}, Key{"offload", "offload"}};

/// The fields of a plan object, but for its canonical text.
Result<PlanText> read_fields(const JsonNode& plan, const std::string& where, ReadLog& log) {
  Reader reader(where);
  for (const Key& key : kIntegers) {
    const JsonNode value = plan.find(key.key);
    if (value) reader.take_named(key.key, key.name, std::to_string(value.integer(0, kDegreeMax)));
  }
  for (const Key& key : kTexts) {
    const JsonNode value = plan.find(key.key);
    if (!value) continue;
    for (const std::string& part : flag_parts(value.text())) reader.take_named(part, key.name, part);
  }
  if (const JsonNode on = plan.find("sequence_parallel"))
    reader.take_named("sequence_parallel", "sp", on.boolean() ? "on" : "off");
  if (log.error) return *log.error;
  return reader.result();
}

}  // namespace

Plan PlanText::as_plan() const {
  Plan p;
  p.dp = axes.dp.value_or(1);
  p.tp = axes.tp.value_or(1);
  p.pp = axes.pp.value_or(1);
  p.cp = axes.cp.value_or(1);
  p.ep = axes.ep.value_or(1);
  p.etp = axes.etp.value_or(1);
  p.zero_stage = axes.zero_stage.value_or(0);
  p.micro_batch = axes.micro_batch.value_or(1);
  p.grad_accumulation = grad_accumulation.value_or(1);
  p.interleave = axes.interleave.value_or(1);
  p.schedule = axes.schedule.value_or(Schedule::k1F1B);
  p.recompute = axes.recompute.value_or(Recompute::kNone);
  p.sequence_parallel = axes.sequence_parallel.value_or(false);
  p.first_layers = first_layers.value_or(Plan::kEven);
  p.last_layers = last_layers.value_or(Plan::kEven);
  p.micro_batch_group = micro_batch_group.value_or(0);
  p.offload = axes.offload.value_or(0);
  p.shard_group = axes.shard_group.value_or(0);
  p.rank_order = axes.rank_order.value_or(RankOrder{});
  return p;
}

Result<PlanText> read_plan_text(std::string_view typed, const std::string& where) {
  Reader reader(where);
  for (const std::string& part : parts_of(typed)) reader.read(part);
  return reader.result();
}

Result<PlanText> read_plan_json(std::string_view text, const std::string& where) {
  const Result<nlohmann::json> json = parse_json(text, where);
  if (!json) return json.error();
  ReadLog log{where, {}};
  JsonNode plan(&*json, "", &log);
  if (const JsonNode best = plan.find("best"); best.is_object()) plan = best;
  if (const JsonNode own = plan.find("plan"); own.is_object()) plan = own;
  if (log.error) return *log.error;
  const JsonNode canonical = plan.find("canonical");
  if (!canonical && !plan.find("dp") && !plan.find("tp") && !plan.find("pp"))
    return Error{"missing_field", "there is no plan in it", where,
                 "a plan object, or an answer of plan --json that has a best plan", ""};
  Result<PlanText> fields = read_fields(plan, where, log);
  if (!fields || !canonical) return fields;
  // The text alone says how micro-batches are dealt.
  Result<PlanText> whole = read_plan_text(canonical.text(), where);
  if (!whole || log.error) return log.error ? Result<PlanText>(*log.error) : whole;
  const PlanText told = *whole;
  const bool agree = !fields->whole || (fields->axes == told.axes && fields->grad_accumulation.value_or(1) ==
                                                                         told.grad_accumulation.value_or(1));
  const bool ends = (!fields->first_layers || fields->first_layers == told.first_layers) &&
                    (!fields->last_layers || fields->last_layers == told.last_layers);
  if (agree && ends) return whole;
  return Error{"conflict", "its fields say another plan than its canonical text, " + canonical.text(), where,
               "fields that agree, or no field \"canonical\"", ""};
}

Result<PlanText> read_plan_document(std::string_view text, const std::string& where) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  const bool object = start != std::string_view::npos && text[start] == '{';
  return object ? read_plan_json(text, where) : read_plan_text(text, where);
}

Result<PlanText> read_plan(const std::string& typed, const std::string& where) {
  std::error_code none;
  if (!std::filesystem::exists(typed, none) && !typed.ends_with(".json"))
    return read_plan_document(typed, where);
  const Result<std::string> file = read_text_file(typed);
  if (!file) return file.error();
  return read_plan_document(*file, typed);
}

std::optional<Error> add_axes(const PlanText& text, FixedAxes& axes) {
  std::optional<Error> error;
  const auto add = [&](const char* axis, const auto& told, auto& known) {
    if (!told) return;
    if (known && *known != *told && !error) {
      error = Error{"conflict", std::string(axis) + " is told twice, each time another", text.where,
                    std::string("an axis here or by --") + axis, ""};
    }
    known = told;
  };
  const FixedAxes& t = text.axes;
  add("dp", t.dp, axes.dp);
  add("tp", t.tp, axes.tp);
  add("pp", t.pp, axes.pp);
  add("cp", t.cp, axes.cp);
  add("ep", t.ep, axes.ep);
  add("etp", t.etp, axes.etp);
  add("zero", t.zero_stage, axes.zero_stage);
  add("micro-batch", t.micro_batch, axes.micro_batch);
  add("interleave", t.interleave, axes.interleave);
  add("schedule", t.schedule, axes.schedule);
  add("recompute", t.recompute, axes.recompute);
  add("sp", t.sequence_parallel, axes.sequence_parallel);
  add("offload", t.offload, axes.offload);
  add("shard-group", t.shard_group, axes.shard_group);
  add("rank-order", t.rank_order, axes.rank_order);
  const auto add_end = [&](const char* axis, const std::optional<std::int16_t>& told, auto& known) {
    if (told.value_or(0) > 0) add(axis, std::optional<std::int32_t>(*told), known);
  };
  add_end("first-layers", text.first_layers, axes.first_layers);
  add_end("last-layers", text.last_layers, axes.last_layers);
  return error;
}

}  // namespace shardplan
