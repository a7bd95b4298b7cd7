#include "import/plan_question.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "catalog/modules.h"
#include "import/cluster_build.h"
#include "import/cluster_file.h"
#include "import/flag_reader.h"
#include "import/json_text.h"
#include "import/limits.h"
#include "import/question_workload.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Texts = ObjectiveTexts;

constexpr double kHour = 3600, kDay = 24 * kHour;

constexpr std::array kFlags{
    PlanFlag{"--fix", [](PlanSpec& s) -> PlanSpec::Flag& { return s.fix; },
             "axes that are told, as tp=8,pp=4,schedule=1f1b", true},
    PlanFlag{
        "--min", [](PlanSpec& s) -> PlanSpec::Flag& { return s.bounds.min; },
        "least degrees to search, as tp=2,zero=1; dp, tp, pp, cp, ep, etp, zero, shard-group, micro-batch, "
        "interleave, first-layers, last-layers",
        true},
    PlanFlag{"--max", [](PlanSpec& s) -> PlanSpec::Flag& { return s.bounds.max; },
             "most degrees to search, as tp=8,zero=2", true},
    PlanFlag{
        "--forbid", [](PlanSpec& s) -> PlanSpec::Flag& { return s.bounds.forbid; },
        "axes that are not to be used, as cp,ep; also zero, shard-group, recompute, sp, offload, rank-order, "
        "first-layers, last-layers; or values, as precision=fp8, schedule=zb-v, rank-order=tp-cp-pp-dp",
        true},
    PlanFlag{"--objective", [](PlanSpec& s) -> PlanSpec::Flag& { return s.objective.objective; },
             "what is best of several sizes of the cluster: step-time, tokens-per-gpu, cost, energy, gpus"},
    PlanFlag{"--tokens", [](PlanSpec& s) -> PlanSpec::Flag& { return s.objective.tokens; },
             "tokens of the whole run, as 15T"},
    PlanFlag{"--deadline", [](PlanSpec& s) -> PlanSpec::Flag& { return s.objective.deadline; },
             "time for --tokens, as 30d or 720h"},
    PlanFlag{"--price", [](PlanSpec& s) -> PlanSpec::Flag& { return s.objective.price; },
             "$ an hour for one GPU"},
    PlanFlag{"--watts", [](PlanSpec& s) -> PlanSpec::Flag& { return s.objective.watts; },
             "W that one GPU draws, with its share of the node and its cooling"},
    PlanFlag{"--budget", [](PlanSpec& s) -> PlanSpec::Flag& { return s.objective.budget; },
             "$ an hour for all GPUs; without --gpus every size it pays for"},
};

Result<double> read_figure(const char* flag, const std::string& typed, const Limits& limits,
                           const std::string& expected) {
  const auto v = parse_number(typed);
  if (!v) return Error{"bad_value", quoted_flag_text(typed) + " is not a number", flag, expected, ""};
  if (limits.hold(*v)) return *v;
  return Error{"out_of_range", quoted_flag_text(typed) + " is out of range", flag,
               expected + ", between " + format_number(limits.low) + " and " + format_number(limits.high),
               ""};
}

std::optional<Seconds<>> parse_days(std::string_view text, double) {
  if (text.empty()) return std::nullopt;
  const double unit = text.back() == 'd' ? kDay : text.back() == 'h' ? kHour : 0;
  const auto v = parse_number(text.substr(0, text.size() - 1));
  return v && unit > 0 ? std::optional(seconds(*v * unit)) : std::nullopt;
}

std::optional<Tokens<>> parse_tokens(std::string_view text, double bare_unit) {
  const auto v = parse_count(text, bare_unit);
  return v ? std::optional(tokens(*v)) : std::nullopt;
}

/// The value of a flag, if it was told; the first error is kept.
template <class T, class Read>
void take(const Texts::Flag& text, std::optional<T>& value, std::optional<Error>& error, Read read) {
  if (!text || error) return;
  const auto found = read(*text);
  if (found) {
    value = *found;
  } else {
    error = found.error();
  }
}

Result<ObjectiveKind> kind_named(const std::string& typed) {
  std::vector<std::string> names;
  std::string list;
  for (int i = 0; i < kObjectiveKindCount; ++i) {
    names.emplace_back(name(static_cast<ObjectiveKind>(i)));
    if (names.back() == name_key(typed)) return static_cast<ObjectiveKind>(i);
    list += (list.empty() ? "one of " : ", ") + names.back();
  }
  return Error{"unknown_name", quoted_flag_text(typed) + " is no objective", "--objective", list,
               nearest_name(name_key(typed), names)};
}

/// Of the cluster file, where the cluster is one.
Result<ClusterPrices> prices_of(const QuestionSpec& spec) {
  std::error_code ignored;
  if (!spec.cluster || !std::filesystem::exists(*spec.cluster, ignored)) return ClusterPrices{};
  const Result<std::string> file = read_text_file(*spec.cluster);
  if (!file) return file.error();
  return read_cluster_prices(*file, *spec.cluster);
}

/// What the objective cannot do without.
std::optional<Error> missing(const Objective& o) {
  const auto lacks = [&](const std::string& what, const std::string& expected) {
    return Error{"missing_flag", std::string("objective ") + name(o.kind) + " needs " + what, "--objective",
                 expected, ""};
  };
  if (o.kind == ObjectiveKind::kCost && !o.price) {
    return lacks("the price of a GPU",
                 "--price $/h, or price_per_gpu_hour_usd in the cluster file; the catalog has none");
  }
  if (o.kind == ObjectiveKind::kEnergy && !o.watts) {
    return lacks("what a GPU draws",
                 "--watts W, or power_per_gpu_w in the cluster file; the catalog has none");
  }
  if (o.kind == ObjectiveKind::kGpus && !(o.budget && o.deadline))
    return lacks("tokens and a time for them", "--tokens 15T --deadline 30d");
  if (o.deadline && !o.budget) {
    return Error{"missing_flag", "a deadline is for a number of tokens", "--deadline", "--tokens 15T too",
                 ""};
  }
  if (o.spending && !o.price) {
    return Error{"missing_flag", "how many GPUs a budget pays for takes their price", "--budget",
                 "--price $/h too, or price_per_gpu_hour_usd in the cluster file", ""};
  }
  return std::nullopt;
}

Result<Objective> read_objective(const PlanSpec& spec) {
  const Texts& texts = spec.objective;
  Objective o;
  std::optional<Error> error;
  std::optional<ObjectiveKind> kind;
  std::optional<double> price, watts, spending;
  take(texts.objective, kind, error, kind_named);
  take(texts.tokens, o.budget, error, [](const std::string& typed) {
    return read_flag<Tokens<>>("--tokens", typed, parse_tokens, 1, kBudgetLimits,
                               "tokens, such as 15T or 300B");
  });
  take(texts.deadline, o.deadline, error, [](const std::string& typed) {
    return read_flag<Seconds<>>("--deadline", typed, parse_days, 1, kDeadlineLimits,
                                "days or hours, such as 30d or 720h");
  });
  const auto figure = [&](const char* flag, const Texts::Flag& text, const Limits& limits,
                          const char* expected, std::optional<double>& value) {
    take(text, value, error,
         [&](const std::string& typed) { return read_figure(flag, typed, limits, expected); });
  };
  figure("--price", texts.price, kPriceLimits, "$ an hour and GPU, such as 2.5", price);
  figure("--watts", texts.watts, kWattsLimits, "W of one GPU, such as 700", watts);
  figure("--budget", texts.budget, kSpendingLimits, "$ an hour, such as 500", spending);
  if (error) return *error;
  const Result<ClusterPrices> told = prices_of(spec.question);
  if (!told) return told.error();
  o.kind = kind.value_or(o.kind);
  o.told = kind.has_value();
  o.price = told->price;
  o.watts = told->watts;
  if (price) o.price = {usd_per_hour(*price), user_source("--price")};
  if (watts) o.watts = {*watts, user_source("--watts")};
  if (spending) o.spending = usd_per_hour(*spending);
  if (auto lacking = missing(o)) return *lacking;
  return o;
}

/// How many GPUs the budget pays for, as far as there can be so many. So few that rounding up what a quotient
/// may have lost adds none.
std::int64_t paid_for(const Objective& o) {
  constexpr double kRounding = 1 + 1e-12;
  const double paid = (*o.spending / o.price->value).raw() * kRounding;
  return static_cast<std::int64_t>(std::floor(std::min(paid, static_cast<double>(kGpusMax))));
}

std::string budget_words(const Objective& o) {
  return "$" + format_number(hourly(*o.spending)) + " an hour at $" + format_number(hourly(o.price->value)) +
         " for a GPU";
}

/// Sizes that a budget without --gpus means: all that it pays for and a told cluster has.
Result<GpuRange> sizes_paid_for(const PlanSpec& spec, const Catalog& catalog, const Objective& o) {
  GpuRange sizes{1, paid_for(o), 1};
  if (!spec.question.cluster) return sizes;
  std::vector<std::string> ignored;
  const Result<Cluster> cluster = build_cluster(spec.question, catalog, ignored);
  if (!cluster) return cluster.error();
  sizes.most = std::min(sizes.most, cluster->gpus);
  return sizes;
}

/// The sizes that are asked for; nothing where it is one.
Result<std::optional<GpuRange>> read_sizes(const PlanSpec& spec, const Catalog& catalog, const Objective& o) {
  std::optional<GpuRange> sizes;
  const auto& gpus = spec.question.gpus;
  if (gpus && is_gpu_range(*gpus)) {
    const Result<GpuRange> read = read_gpu_range(*gpus);
    if (!read) return read.error();
    sizes = *read;
  } else if (!gpus && o.spending) {
    const Result<GpuRange> paid = sizes_paid_for(spec, catalog, o);
    if (!paid) return paid.error();
    sizes = *paid;
  }
  if (sizes && o.spending) sizes->most = std::min(sizes->most, paid_for(o));
  if (sizes && sizes->count() == 0) {
    return Error{"out_of_range", budget_words(o) + " pays for " + counted(paid_for(o), "GPU"), "--budget",
                 "at least the fewest GPUs asked for, " + std::to_string(sizes->first()), ""};
  }
  if (sizes && sizes->count() > kSizesMax) {
    return Error{"out_of_range", format_count(static_cast<double>(sizes->count())) + " sizes of the cluster",
                 gpus ? "--gpus" : "--budget",
                 "at most " + format_count(static_cast<double>(kSizesMax)) +
                     ": --gpus A:B:STEP takes multiples of STEP",
                 ""};
  }
  if (sizes && spec.question.topology) {
    return Error{"conflict", "a told shape is of one size", "--topology", "one number of --gpus", ""};
  }
  return sizes;
}

/// What is searched without --whole-space.
std::string usual_plans(const Question& q) {
  const bool ends =
      q.fixed.told(Degree::kFirstLayers) || q.fixed.told(Degree::kLastLayers) || q.fixed.bounds_ends();
  const bool usual_order = !q.fixed.rank_order && q.framework.engine.rank_orders.front().usual();
  return std::string("searched: stages of equally many layers") +
         (ends ? ", but for the first and the last one" : "") +
         ", core attention or whole layers run again, sequence parallelism wherever there is tensor parallelism, "
         "ranks in " +
         (usual_order ? "the usual" : "one") + " order (--whole-space for all others)";
}

Result<Question> bounded_question(QuestionSpec spec, const PlanSpec& told, const Catalog& catalog) {
  if (const auto fixed = take_fixed(told.fix, spec); !fixed) return fixed.error();
  const Result<ForbiddenValues> forbidden = read_forbidden(told.bounds);
  if (!forbidden) return forbidden.error();
  Result<Question> question = build_question(spec, catalog);
  if (!question) return question.error();
  Question& q = question.value();
  const auto notes = read_bounds(told.bounds, q.fixed);
  if (!notes) return notes.error();
  q.notes.insert(q.notes.end(), notes->begin(), notes->end());
  q.whole_space = told.whole_space;
  if (auto error = take_out_forbidden(*forbidden, q)) return *error;
  if (forbidden->holds(q.workload.recipe)) {
    return Error{"conflict",
                 std::string("precision ") + name(q.workload.recipe) + " is forbidden and " +
                     (spec.precision ? "told" : "taken where none is told"),
                 spec.precision ? "--precision" : "--forbid precision",
                 "another one, several of them, or any: --precision", ""};
  }
  if (!told.whole_space && q.framework.engine.uneven_ends) q.assumed.push_back(usual_plans(q));
  if (told.whole_space && q.framework.engine.whole_sequences && !q.fixed.sequence_parallel &&
      has_module(q.model, Module::kMoe)) {
    q.assumed.emplace_back(
        "searched: experts beside tensor parallelism with sequence parallelism only (--sp off for the others)");
  }
  return question;
}

/// On the largest size that the told axes divide, where they divide one.
Result<Question> largest_question(const PlanSpec& spec, const Catalog& catalog, const GpuRange& sizes) {
  FlagReader flags(spec.question);
  std::int64_t product = 1;
  bool all = true;
  for (const FlagReader::Member axis :
       {&QuestionSpec::dp, &QuestionSpec::tp, &QuestionSpec::pp, &QuestionSpec::cp}) {
    all = all && flags.told(axis);
    product = std::min(kGpusMax, product * flags.degree(axis).value_or(1));
  }
  if (flags.error()) return *flags.error();
  const std::int64_t step = std::max<std::int64_t>(1, std::lcm(product, sizes.step));
  const std::int64_t largest = all ? product : sizes.most / step * step;
  if (largest % step == 0 && largest >= sizes.first() && largest <= sizes.most)
    return question_of_size(spec, catalog, largest);
  return Error{"not_divisible",
               "the told axes take " + std::string(all ? "" : "a multiple of ") + std::to_string(product) +
                   " GPUs, which is none of the sizes",
               "--gpus", "a range that holds one", ""};
}

Result<PlanQuestion> question_in_one_precision(const PlanSpec& spec, const Catalog& catalog) {
  Result<Objective> objective = read_objective(spec);
  if (!objective) return objective.error();
  const auto sizes = read_sizes(spec, catalog, *objective);
  if (!sizes) return sizes.error();
  Result<Question> question =
      *sizes ? largest_question(spec, catalog, **sizes) : bounded_question(spec.question, spec, catalog);
  if (!question) return question.error();
  const std::int64_t gpus = question->cluster.gpus;
  if (!*sizes && objective->spending && gpus > paid_for(*objective)) {
    return Error{
        "conflict",
        counted(gpus, "GPU") + (gpus == 1 ? " is" : " are") + " more than " + budget_words(*objective) +
            " pays for",
        "--budget",
        "at most " + counted(paid_for(*objective), "GPU") + ", or a range: --gpus 1:" + std::to_string(gpus),
        ""};
  }
  QuestionOfSize of_size = [one = *question](std::int64_t) { return one; };
  if (*sizes) {
    of_size = [spec, &catalog](std::int64_t size) { return question_of_size(spec, catalog, size).value(); };
  }
  return PlanQuestion{std::move(question).value(), *sizes, std::move(objective).value(), std::move(of_size)};
}

/// The names of several precisions; none where --precision says one, or nothing.
Result<std::vector<std::string>> several_precisions(const QuestionSpec& spec) {
  if (!spec.precision || !names_several(*spec.precision)) return std::vector<std::string>{};
  if (name_key(*spec.precision) == kAnyValue) return precision_names();
  const std::vector<std::string> names = flag_parts(name_key(*spec.precision));
  std::vector<std::string> recipes;  // one may have two names
  for (const std::string& part : names) {
    const auto recipe = precision_recipe_named(part);
    recipes.push_back(recipe ? name(*recipe) : part);
  }
  if (auto error = list_error("--precision", recipes)) return *error;
  return names;
}

}  // namespace

std::span<const PlanFlag> plan_flags() { return kFlags; }

std::span<const PlanFlag> search_flags() {
  constexpr std::size_t kSearched = 4;
  static_assert(kFlags[kSearched - 1].list && !kFlags[kSearched].list, "the lists say what is searched");
  return std::span(kFlags).first(kSearched);
}

Result<Question> searched_question(const PlanSpec& spec, const Catalog& catalog) {
  PlanSpec told = spec;
  told.fix.reset();
  const auto in_fix = take_fixed(spec.fix, told.question);
  if (!in_fix) return in_fix.error();
  Result<Question> question = bounded_question(told.question, told, catalog);
  if (!question) return as_typed(question.error(), *in_fix);
  return question;
}

bool is_gpu_range(const std::string& text) { return text.find(':') != std::string::npos; }

Result<GpuRange> read_gpu_range(const std::string& text) {
  std::array<std::int64_t, 3> parts{1, 1, 1};
  std::size_t from = 0, count = 0;
  for (; from <= text.size(); ++count) {
    const std::size_t colon = std::min(text.find(':', from), text.size());
    if (count == parts.size()) {
      return Error{"bad_value", quoted_flag_text(text) + " has too many parts", "--gpus",
                   "A:B, or A:B:STEP for the multiples of STEP", ""};
    }
    const Result<std::int64_t> read = read_whole("--gpus", text.substr(from, colon - from), 1, kGpusMax);
    if (!read && !text.substr(from, colon - from).empty()) return read.error();
    if (!read) {
      return Error{"bad_value", quoted_flag_text(text) + " does not say both ends", "--gpus",
                   "A:B, or A:B:STEP for the multiples of STEP", ""};
    }
    parts[count] = *read;
    from = colon + 1;
  }
  const GpuRange range{parts[0], parts[1], parts[2]};
  if (range.count() > 0) return range;
  return Error{"bad_value", quoted_flag_text(text) + " holds no size", "--gpus",
               range.least > range.most ? "the smaller number first" : "a multiple of STEP between A and B",
               ""};
}

Result<Question> question_of_size(const PlanSpec& spec, const Catalog& catalog, std::int64_t gpus) {
  QuestionSpec one = spec.question;
  one.purpose = Purpose::kSizes;
  one.gpus = std::to_string(gpus);
  return bounded_question(std::move(one), spec, catalog);
}

PlanSpec in_precision(PlanSpec spec, const std::string& name) {
  spec.question.precision = name;
  return spec;
}

namespace {

Result<PlanQuestion> question_in_each_precision(const PlanSpec& spec, const Catalog& catalog) {
  const Result<std::vector<std::string>> names = several_precisions(spec.question);
  if (!names) return names.error();
  if (names->empty()) return question_in_one_precision(spec, catalog);
  const Result<ForbiddenValues> forbidden = read_forbidden(spec.bounds);
  if (!forbidden) return forbidden.error();
  if (spec.question.peak_tflops) {
    return Error{"conflict", "a told peak is of one precision", "--peak-tflops", "one --precision", ""};
  }
  std::optional<PlanQuestion> whole;
  std::vector<AskedPrecision> precisions;
  std::string reasons;
  for (const std::string& name : *names) {
    const auto recipe = precision_recipe_named(name);
    const Result<PlanQuestion> asked = question_in_one_precision(in_precision(spec, name), catalog);
    std::optional<Error> error;
    if (recipe && forbidden->holds(*recipe)) {
      error = Error{"unsupported", name + " is forbidden", "--precision", "", ""};
    } else if (!asked) {
      error = asked.error();
    } else if (const std::string beyond = beyond_framework(asked->question); !beyond.empty()) {
      error = Error{"unsupported", beyond, "--precision", "", ""};
    }
    // What is wrong with the question is wrong in every precision.
    if (error && (error->code != "unsupported" || error->where != "--precision")) return *error;
    if (!error && !whole) whole = *asked;
    if (error) {
      if (reasons.find(error->message) == std::string::npos)
        reasons += (reasons.empty() ? "" : "; ") + error->message;
      precisions.push_back({name, error->message});
    } else {
      precisions.push_back({name, "", asked->of_size});
    }
  }
  if (!whole) {
    return Error{"unsupported", "none of the precisions can be had: " + reasons, "--precision",
                 "a precision that the device and the framework have", ""};
  }
  whole->precisions = std::move(precisions);
  return *whole;
}

}  // namespace

Result<PlanQuestion> build_plan_question(const PlanSpec& spec, const Catalog& catalog) {
  PlanSpec told = spec;
  told.fix.reset();
  const auto in_fix = take_fixed(spec.fix, told.question);
  if (!in_fix) return in_fix.error();
  Result<PlanQuestion> asked = question_in_each_precision(told, catalog);
  if (!asked) return as_typed(asked.error(), *in_fix);
  asked.value().told = told_axes(spec.question, *in_fix, spec.bounds);
  return asked;
}

}  // namespace shardplan
