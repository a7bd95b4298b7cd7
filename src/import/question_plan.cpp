#include "import/question_plan.h"

#include <algorithm>
#include <array>

#include "catalog/modules.h"
#include "import/defaults.h"
#include "import/json_text.h"
#include "import/question_options.h"
#include "import/question_workload.h"

namespace shardplan {
namespace {

using Spec = QuestionSpec;

/// What people type and no estimate models yet is refused as such, not as a slip of spelling.
void refuse_unmodelled(FlagReader& flags) {
  for (const Precision p : {Precision::kFp32, Precision::kTf32, Precision::kInt8}) {
    if (!flags.told(&Spec::precision) || name_key(*flags.text(&Spec::precision)) != name(p)) continue;
    flags.fail(&Spec::precision, "unsupported", std::string("training in ") + name(p) + " is not modelled",
               one_of(precision_names()));
  }
}

std::string listed(const std::vector<Schedule>& schedules) {
  std::string list;
  for (const Schedule s : schedules) list += (list.empty() ? "" : ", ") + std::string(name(s));
  return list;
}

/// "full:4", "moe_act,layernorm": what is wrong with a spelling, and the nearest that is right.
std::optional<Recompute> read_recompute(FlagReader& flags) {
  if (!flags.told(&Spec::recompute)) return std::nullopt;
  const std::string key = name_key(*flags.text(&Spec::recompute));
  if (const auto named = recompute_named(key)) {
    if (auto error = list_error("--recompute", flag_parts(key))) flags.fail(*error);
    return named;
  }
  if (key.starts_with("full:") || key.starts_with("uniform:")) {
    flags.fail(&Spec::recompute, "bad_value", quoted_flag_text(key) + " names no whole number of layers",
               "full:N recomputes the first N layers of each chunk, uniform:N all layers in groups of N");
    return std::nullopt;
  }
  std::vector<std::string> names{"none", "selective", "full"};
  const bool list = key.find(',') != std::string::npos;
  if (list) names.clear();
  for (int i = 0; i < kModuleCount; ++i) names.emplace_back(name(static_cast<Module>(1 << i)));
  std::string expected, wrong = key;
  for (const std::string& known : names) expected += (expected.empty() ? "" : ", ") + known;
  for (std::size_t from = 0; list && from <= key.size();) {
    const std::size_t comma = std::min(key.find(',', from), key.size());
    wrong = key.substr(from, comma - from);
    if (!module_named(wrong)) break;
    from = comma + 1;
  }
  flags.fail(&Spec::recompute, "unknown_name", quoted_flag_text(wrong) + " is not one of its values",
             list ? "names of " + expected + ", joined by commas"
                  : "one of " + expected + ", full:N, uniform:N; module names can be joined by commas",
             nearest_name(wrong, names));
  return std::nullopt;
}

/// The schedules that --schedule names; none where it is not told.
std::vector<Schedule> read_schedules(FlagReader& flags, Purpose purpose) {
  if (!flags.told(&Spec::schedule)) return {};
  const std::string key = name_key(*flags.text(&Spec::schedule));
  if (key == kAnyValue) return {kSchedules.begin(), kSchedules.end()};
  if (auto error = list_error("--schedule", flag_parts(key))) flags.fail(*error);
  std::vector<Schedule> told;
  for (const std::string& part : flag_parts(key)) {
    const auto schedule = schedule_named(part);
    if (!schedule) {
      flags.fail(&Spec::schedule, "unknown_name", quoted_flag_text(part) + " is not one of its values",
                 expected_values(schedule_names(), purpose), nearest_name(part, schedule_names()));
      return {};
    }
    told.push_back(*schedule);
  }
  return told;
}

void check_schedules(FlagReader& flags, const std::vector<Schedule>& schedules, Purpose purpose,
                     const FixedAxes& axes) {
  const bool searched = purpose == Purpose::kPlan || purpose == Purpose::kSizes;
  if (schedules.size() > 1 && !searched) {
    flags.fail(
        &Spec::schedule, "unsupported",
        quoted_flag_text(*flags.text(&Spec::schedule)) + " is several schedules, and one layout has one",
        one_of(schedule_names()) + "; plan searches several");
  }
  if (schedules.empty() || !axes.interleave) return;
  const bool interleaved =
      std::find(schedules.begin(), schedules.end(), Schedule::kInterleaved) != schedules.end();
  const bool others = schedules.size() > (interleaved ? 1 : 0);
  if (*axes.interleave > 1 ? interleaved : others) return;
  flags.fail(&Spec::interleave, "conflict",
             "schedule " + listed(schedules) + " with interleave " + std::to_string(*axes.interleave),
             "--schedule interleaved with --interleave 2 or more, or neither");
}

// What `memory` takes for what is not told
// --------------------------------------------------------------------

std::optional<Error> take_degrees(const Question& q, MemoryPlan& result) {
  Plan& p = result.plan;
  std::string ones;
  const auto degree = [&](const char* axis, const std::optional<std::int32_t>& told) {
    if (!told) ones += (ones.empty() ? "" : ", ") + std::string(axis);
    return told.value_or(1);
  };
  p.tp = degree("tp", q.fixed.tp);
  p.pp = degree("pp", q.fixed.pp);
  p.cp = degree("cp", q.fixed.cp);
  p.ep = degree("ep", q.fixed.ep);
  p.etp = degree("etp", q.fixed.etp);
  if (!ones.empty()) result.assumed.push_back(ones + " not told: 1");
  const std::int64_t replicas = q.cluster.gpus / (std::int64_t{p.tp} * p.pp * p.cp);
  p.dp = q.fixed.dp.value_or(static_cast<std::int32_t>(replicas));
  if (!q.fixed.dp) result.assumed.push_back("dp " + std::to_string(replicas) + ": the GPUs that remain");
  if (p.gpus() == q.cluster.gpus) return std::nullopt;
  return Error{"not_divisible",
               "dp " + std::to_string(p.dp) + " x tp " + std::to_string(p.tp) + " x pp " +
                   std::to_string(p.pp) + " x cp " + std::to_string(p.cp) + " is not " +
                   std::to_string(q.cluster.gpus) + " GPUs",
               "--gpus", std::to_string(p.gpus()), ""};
}

void take_zero_stage(const Question& q, MemoryPlan& result) {
  Plan& p = result.plan;
  if (std::int64_t{p.dp} * p.cp == 1) {
    result.assumed.emplace_back("one replica: ZeRO has nothing to shard over");
    return;
  }
  std::int8_t stage = kMemoryZeroStage;
  while (stage > 0 && !q.framework.zero[static_cast<std::size_t>(stage)].allowed) --stage;
  p.zero_stage = q.fixed.zero_stage.value_or(stage);
  if (q.fixed.zero_stage) return;
  result.assumed.push_back("ZeRO stage " + std::to_string(stage) + ": the fullest sharding that " +
                           q.framework.name + " has");
}

void take_pipeline(const Question& q, MemoryPlan& result) {
  Plan& p = result.plan;
  const bool interleaved = q.fixed.schedule == Schedule::kInterleaved;
  p.interleave = q.fixed.interleave.value_or(interleaved ? kInterleavedChunks : 1);
  if (interleaved && !q.fixed.interleave) {
    result.assumed.push_back("interleave " + std::to_string(kInterleavedChunks));
  }
  p.schedule = q.fixed.schedule.value_or(p.interleave > 1 ? Schedule::kInterleaved : Schedule::k1F1B);
  if (p.pp > 1 && !q.fixed.schedule) result.assumed.push_back(std::string("schedule ") + name(p.schedule));
}

std::optional<Error> take_batch(const Question& q, MemoryPlan& result) {
  Plan& p = result.plan;
  p.micro_batch = q.fixed.micro_batch.value_or(kMemoryMicroBatch);
  if (!q.fixed.micro_batch) result.assumed.push_back("micro-batch " + std::to_string(kMemoryMicroBatch));
  if (q.workload.global_batch == 0) {
    p.grad_accumulation = filling_micro_batches(p);
    result.assumed.emplace_back(p.schedule == Schedule::kDualPipe
                                    ? "twice as many micro-batches as pipeline stages, the fewest of dualpipe"
                                    : "as many micro-batches as pipeline stages");
    return std::nullopt;
  }
  const std::int64_t each = std::int64_t{p.dp} * p.micro_batch;
  if (q.workload.global_batch % each != 0) {
    return Error{"not_divisible",
                 "global batch " + std::to_string(q.workload.global_batch) +
                     " is not a multiple of dp x micro-batch = " + std::to_string(each),
                 "--global-batch", "a multiple of " + std::to_string(each), ""};
  }
  p.grad_accumulation = static_cast<std::int32_t>(q.workload.global_batch / each);
  return std::nullopt;
}

}  // namespace

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  names.reserve(kSchedules.size());
  for (const Schedule s : kSchedules) names.emplace_back(name(s));
  return names;
}

void check_recompute(FlagReader& flags, const Question& q) {
  if (!q.fixed.recompute) return;
  const Recompute& recompute = *q.fixed.recompute;
  const auto layers = static_cast<std::int64_t>(q.model.layers.size());
  if (recompute.whole_layers() && recompute.layers > layers) {
    flags.fail(&Spec::recompute, "out_of_range",
               name(recompute) + " of the " + std::to_string(layers) + " layers of " + q.model.name,
               "at most " + std::to_string(layers) + " layers");
  }
  if (recompute == Recompute::kSelective) return;
  std::string available;
  const Module* missing = nullptr;
  static constexpr std::array kModules{Module::kCoreAttention,   Module::kMoeActivation, Module::kLayerNorm,
                                       Module::kMlaUpProjection, Module::kMlp,           Module::kMoe,
                                       Module::kSharedExperts};
  for (const Module& module : kModules) {
    if (has_module(q.model, module)) {
      available += (available.empty() ? "" : ", ") + std::string(name(module));
    } else if (recompute.has(module) && missing == nullptr) {
      missing = &module;
    }
  }
  if (missing == nullptr) return;
  flags.fail(&Spec::recompute, "unsupported", q.model.name + " has no " + name(*missing) + " to recompute",
             "modules that it has: " + available);
}

void check_ends(FlagReader& flags, const Question& q) {
  const auto layers = static_cast<std::int64_t>(q.model.layers.size());
  const std::int64_t first = q.fixed.first_layers.value_or(0), last = q.fixed.last_layers.value_or(0);
  if (first + last == 0) return;
  if (first + last > layers) {
    flags.fail(first > 0 ? &Spec::first_layers : &Spec::last_layers, "out_of_range",
               std::to_string(first + last) + " layers of the first and the last chunk, and " + q.model.name +
                   " has " + std::to_string(layers),
               "at most " + std::to_string(layers) + " layers");
  }
}

void note_foreign(Question& q) {
  const Framework::Engine& engine = q.framework.engine;
  const FixedAxes& told = q.fixed;
  const auto note = [&](bool asked, bool known, const std::string& what) {
    if (asked && !known) q.notes.push_back("no option of " + q.framework.name + " is known that " + what);
  };
  const auto ends = [](const std::optional<std::int32_t>& layers) { return layers.value_or(0) > 0; };
  note(ends(told.first_layers) || ends(told.last_layers), engine.uneven_ends.has_value(),
       "tells how many layers the first or the last chunk holds");
  if (told.recompute) {
    const Recompute& again = *told.recompute;
    note(again.kind == Recompute::Kind::kModules && again != Recompute::kSelective,
         engine.recomputed_modules.has_value(), "recomputes single modules of a layer");
    note(again.kind == Recompute::Kind::kBlock, engine.recomputed_layers.has_value(),
         "recomputes the first layers of a chunk only");
    note(again.kind == Recompute::Kind::kUniform && again.layers > 1, engine.recomputed_groups.has_value(),
         "recomputes layers in groups");
  }
  note(told.sequence_parallel == false && told.tp.value_or(0) != 1, engine.whole_sequences.has_value(),
       "leaves sequences whole beside tensor parallelism");
  note(told.shard_group.value_or(0) > 0, engine.shard_groups.has_value(),
       "shards over a part of the replicas");
  note(told.rank_order.has_value(),
       !told.rank_order || std::find(engine.rank_orders.begin(), engine.rank_orders.end(),
                                     *told.rank_order) != engine.rank_orders.end(),
       "numbers ranks as " + (told.rank_order ? name(*told.rank_order) : std::string()));
}

std::optional<RankOrder> read_rank_order(FlagReader& flags) {
  const auto& told = flags.text(&Spec::rank_order);
  if (!told) return std::nullopt;
  const auto order = rank_order_named(*told);
  if (!order) {
    flags.fail(&Spec::rank_order, "bad_value", quoted_flag_text(*told) + " is no order of the ranks",
               "tp, cp, dp and pp, the innermost first: tp-cp-dp-pp");
  }
  return order;
}

void take_schedules(FlagReader& flags, Question& q) {
  const std::vector<Schedule> told = read_schedules(flags, Purpose::kPlan);
  Framework::Engine& engine = q.framework.engine;
  std::vector<Schedule> foreign;
  for (const Schedule s : told) {
    if (std::find(engine.schedules.begin(), engine.schedules.end(), s) == engine.schedules.end())
      foreign.push_back(s);
  }
  if (told.size() > 1) q.notes.push_back("searched schedules: " + listed(told));
  if (!foreign.empty()) {
    q.notes.push_back(q.framework.name + " runs " + listed(engine.schedules) + " [" +
                      label(engine.schedules_source) + "], not " + listed(foreign));
  }
  if (told.size() > 1) engine.schedules = told;
}

Result<FixedAxes> parse_axes(const QuestionSpec& spec) {
  FlagReader flags(spec);
  FixedAxes axes;
  axes.dp = flags.degree(&Spec::dp);
  axes.tp = flags.degree(&Spec::tp);
  axes.pp = flags.degree(&Spec::pp);
  axes.cp = flags.degree(&Spec::cp);
  axes.ep = flags.degree(&Spec::ep);
  axes.etp = flags.degree(&Spec::etp);
  axes.micro_batch = flags.degree(&Spec::micro_batch);
  axes.interleave = flags.degree(&Spec::interleave);
  if (const auto stage = flags.integer(&Spec::zero, 0, kZeroStageMax))
    axes.zero_stage = static_cast<std::int8_t>(*stage);
  refuse_unmodelled(flags);
  axes.recompute = read_recompute(flags);
  const std::vector<Schedule> schedules = read_schedules(flags, spec.purpose);
  if (schedules.size() == 1) axes.schedule = schedules.front();
  axes.sequence_parallel = flags.boolean(&Spec::sp);
  axes.offload = read_offload(flags);
  if (const auto ranks = flags.integer(&Spec::shard_group, 2, kGpusMax))
    axes.shard_group = static_cast<std::int32_t>(*ranks);
  axes.rank_order = read_rank_order(flags);
  axes.first_layers = flags.degree(&Spec::first_layers);
  axes.last_layers = flags.degree(&Spec::last_layers);
  check_schedules(flags, schedules, spec.purpose, axes);
  if (flags.error()) return *flags.error();
  return axes;
}

Result<MemoryPlan> default_memory_plan(const Question& q) {
  MemoryPlan result;
  const auto wrong_degrees = take_degrees(q, result);
  if (wrong_degrees) return *wrong_degrees;
  take_zero_stage(q, result);
  take_pipeline(q, result);
  const auto wrong_batch = take_batch(q, result);
  if (wrong_batch) return *wrong_batch;
  Plan& p = result.plan;
  p.recompute = q.fixed.recompute.value_or(Recompute::kNone);
  if (!q.fixed.recompute) result.assumed.emplace_back("recompute none");
  const std::int64_t chunks = std::int64_t{p.pp} * p.interleave;
  const std::int64_t longest = (static_cast<std::int64_t>(q.model.layers.size()) + chunks - 1) / chunks;
  if (p.recompute.layers > longest && p.first_layers == Plan::kEven && p.last_layers == Plan::kEven) {
    result.assumed.push_back("recompute " + name(p.recompute) + " takes in whole chunks: the longest has " +
                             std::to_string(longest) + " layers");
  }
  p.offload = q.fixed.offload.value_or(0);
  p.shard_group = q.fixed.shard_group.value_or(0);
  p.rank_order = q.fixed.rank_order.value_or(RankOrder{});
  p.first_layers = static_cast<std::int16_t>(q.fixed.told(Degree::kFirstLayers).value_or(Plan::kEven));
  p.last_layers = static_cast<std::int16_t>(q.fixed.told(Degree::kLastLayers).value_or(Plan::kEven));
  p.sequence_parallel = q.fixed.sequence_parallel.value_or(p.tp > 1);
  if (p.tp > 1 && !q.fixed.sequence_parallel) result.assumed.emplace_back("sequence parallelism with tp > 1");
  return result;
}

}  // namespace shardplan
