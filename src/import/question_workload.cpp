#include "import/question_workload.h"

#include <algorithm>
#include <cmath>

#include "import/defaults.h"
#include "import/json_text.h"
#include "import/question_options.h"

namespace shardplan {
namespace {

using Spec = QuestionSpec;

constexpr std::int64_t kSequenceMax = std::int64_t{1} << 32;
constexpr double kBatchMax = 1e9;  // sequences

std::optional<std::int64_t> near_multiple_of(double step, double exact) {
  const double multiple = std::round(exact / step) * step;
  if (std::fabs(multiple / exact - 1) > kBatchRounding) return std::nullopt;
  return static_cast<std::int64_t>(multiple);
}

/// The multiple nearest to `exact` of the largest divisor of the GPUs that moves it little, so that many
/// layouts divide the batch. Nothing when only 1 does.
std::optional<std::int64_t> near_multiple(double exact, std::int64_t gpus) {
  for (std::int64_t parts = 1; parts < gpus; ++parts) {
    if (gpus % parts != 0) continue;
    const std::int64_t step = gpus / parts;
    if (const auto multiple = near_multiple_of(static_cast<double>(step), exact)) return multiple;
  }
  return std::nullopt;
}

/// The same, of the GPUs doubled as often as moves it little, so that many micro-batches divide it too.
std::optional<std::int64_t> near_round_multiple(double exact, std::int64_t gpus) {
  double step = static_cast<double>(gpus);
  while (step * 2 <= exact * (1 + kBatchRounding)) step *= 2;
  for (; step > static_cast<double>(gpus); step /= 2) {
    if (const auto multiple = near_multiple_of(step, exact)) return multiple;
  }
  return near_multiple(exact, gpus);
}

/// A batch in tokens becomes whole sequences: as told when it is whole.
std::int64_t sequences_of(double exact, std::int64_t gpus) {
  if (exact == std::floor(exact)) return static_cast<std::int64_t>(exact);
  return near_multiple(exact, gpus).value_or(static_cast<std::int64_t>(std::round(exact)));
}

/// The batch that is taken when none is told: about kDefaultBatchTokens, or what `parts` GPUs need.
void take_default_batch(Question& q, std::int64_t parts) {
  const double sequence = static_cast<double>(q.workload.sequence);
  // What the told axes ask for divides it; of the rest, as much as can.
  const std::int64_t told = std::int64_t{q.fixed.dp.value_or(1)} * q.fixed.micro_batch.value_or(1);
  const std::int64_t rest = q.fixed.dp ? 1 : parts;
  const double exact = std::max(1.0, kDefaultBatchTokens / sequence / static_cast<double>(told));
  const auto near = rest == 1 ? std::llround(exact) : near_round_multiple(exact, rest);
  q.workload.global_batch =
      told * near.value_or(static_cast<std::int64_t>(std::ceil(exact / static_cast<double>(rest))) * rest);
  const double sequences = static_cast<double>(q.workload.global_batch);
  q.assumed.push_back(
      "global batch " + counted(sequences, "sequence") + " (" + counted(sequences * sequence, "token") +
      "): " + (near ? "about 4 Mi tokens" : "a multiple of the GPUs, as none near 4 Mi tokens divides"));
}

void read_batch(FlagReader& flags, Purpose purpose, Question& q) {
  const std::string expected = "whole sequences, such as 512, or tokens, such as 4Mtok";
  // Cluster sizes are compared at one batch: it is not fitted to any of them.
  const std::int64_t parts = purpose == Purpose::kSizes ? 1 : q.cluster.gpus;
  if (!flags.told(&Spec::global_batch)) {
    if (purpose == Purpose::kPlan || purpose == Purpose::kSizes) take_default_batch(q, parts);
    return;
  }
  const std::string& typed = *flags.text(&Spec::global_batch);
  const auto batch = parse_batch(typed);
  if (!batch || batch->value <= 0 || (!batch->is_tokens && batch->value != std::floor(batch->value))) {
    return flags.fail(&Spec::global_batch, "bad_value", "\"" + typed + "\" is not a batch", expected);
  }
  const double sequences =
      batch->is_tokens ? batch->value / static_cast<double>(q.workload.sequence) : batch->value;
  if (sequences > kBatchMax || sequences < 1) {
    return flags.fail(
        &Spec::global_batch, "out_of_range",
        "\"" + typed + "\" is " + (sequences < 1 ? "less than one sequence" : "too large a batch"), expected);
  }
  q.workload.global_batch = sequences_of(sequences, parts);
  if (batch->is_tokens) {
    q.assumed.push_back("global batch " + typed + " read as " + counted(q.workload.global_batch, "sequence") +
                        " of " + counted(q.workload.sequence, "token"));
  }
}

std::optional<PrecisionRecipe> read_recipe(FlagReader& flags, Purpose purpose, Question& q) {
  using R = PrecisionRecipe;
  if (flags.told(&Spec::precision) && name_key(*flags.text(&Spec::precision)) == name(Precision::kFp4)) {
    q.assumed.push_back(std::string("fp4 scaled as ") + name(R::kNvfp4));
    return precision_recipe_named(name(Precision::kFp4));
  }
  if (flags.told(&Spec::precision) && names_several(*flags.text(&Spec::precision))) {
    flags.fail(
        &Spec::precision, "unsupported",
        quoted_flag_text(*flags.text(&Spec::precision)) + " is several precisions, and one question has one",
        one_of(precision_names()) + "; plan searches several");
    return std::nullopt;
  }
  if (!flags.told(&Spec::precision)) return std::nullopt;
  const auto at =
      flags.index_of(&Spec::precision, precision_names(), expected_values(precision_names(), purpose));
  const auto recipe = at ? std::optional(static_cast<R>(*at)) : std::nullopt;
  if (recipe == R::kMxfp8 && q.cluster.device.before_block_scales()) {
    flags.fail(&Spec::precision, "unsupported",
               q.cluster.device.name + " has no " + name(*recipe) + " products",
               std::string("one of ") + name(R::kFp8) + ", " + name(R::kFp8Blockwise));
  }
  return recipe;
}

void read_precision(FlagReader& flags, Purpose purpose, Question& q) {
  // The account of memory keeps 16-bit weights and activations: full precision would need twice that.
  const auto recipe = read_recipe(flags, purpose, q);
  const auto told = recipe ? std::optional(precision_of(*recipe)) : std::nullopt;
  const auto has = [&](Precision p) {
    return q.cluster.device.peak[static_cast<std::size_t>(p)].has_value();
  };
  // Every GPU that has both runs them at one rate.
  if (told == Precision::kFp16 && !has(Precision::kFp16) && has(Precision::kBf16)) {
    Device& device = q.cluster.device;
    const auto take = [](auto& figures) {
      figures[static_cast<std::size_t>(Precision::kFp16)] =
          figures[static_cast<std::size_t>(Precision::kBf16)];
    };
    take(device.peak);
    take(device.efficiency.gemm);
    take(device.efficiency.gemm_k_half);
    q.assumed.push_back("fp16 at the bf16 rate of " + device.name);
  }
  if (recipe) {
    q.workload.recipe = *recipe;
  } else {
    q.workload.recipe = has(Precision::kBf16) ? PrecisionRecipe::kBf16 : PrecisionRecipe::kFp16;
    q.assumed.push_back(std::string("precision ") + name(q.workload.recipe) +
                        (has(Precision::kBf16) ? "" : ": " + q.cluster.device.name + " has no bf16 rate"));
  }
  if (has(q.workload.precision())) return;
  std::string list;
  for (const Precision p : {Precision::kBf16, Precision::kFp16, Precision::kFp8, Precision::kFp4}) {
    if (has(p)) list += (list.empty() ? "one of " : ", ") + std::string(name(p));
  }
  flags.fail(&Spec::precision, "unsupported",
             q.cluster.device.name + " has no " + name(q.workload.precision()) + " rate", list);
}

/// `memory` of the generic accounting takes the closed forms that go with it, which are the papers' too; what
/// a named framework keeps is counted op by op, as everything but `memory` counts.
ActivationModel usual_activation_model(Purpose purpose, const Question& q) {
  return purpose == Purpose::kMemory && q.framework.name == kDefaultFramework ? ActivationModel::kPaper
                                                                              : ActivationModel::kOps;
}

}  // namespace

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  names.reserve(kPrecisionRecipeCount);
  for (int i = 0; i < kPrecisionRecipeCount; ++i) names.emplace_back(name(static_cast<PrecisionRecipe>(i)));
  return names;
}

void read_workload(FlagReader& flags, Purpose purpose, Question& q) {
  const auto sequence = flags.integer(&Spec::seq, 1, kSequenceMax);
  q.workload.sequence = sequence.value_or(kDefaultSequence);
  if (!sequence) q.assumed.push_back("sequence " + std::to_string(kDefaultSequence));
  const auto optimizer = flags.choice(
      &Spec::optimizer, {Optimizer::kAdamW, Optimizer::kAdamW8bit, Optimizer::kAdamWBf16,
                         Optimizer::kAdafactor, Optimizer::kLion, Optimizer::kMuon, Optimizer::kSgd});
  q.workload.optimizer = optimizer.value_or(kDefaultOptimizer);
  if (!optimizer) q.assumed.push_back(std::string("optimizer ") + name(kDefaultOptimizer));
  read_precision(flags, purpose, q);
  read_batch(flags, purpose, q);
  if (flags.told(&Spec::critical_batch)) {
    const auto critical = parse_batch(*flags.text(&Spec::critical_batch));
    if (!critical || !critical->is_tokens || critical->value <= 0) {
      flags.fail(&Spec::critical_batch, "bad_value",
                 "\"" + *flags.text(&Spec::critical_batch) + "\" is not a token count",
                 "tokens, such as 2Mtok");
    } else {
      q.workload.critical_batch_tokens = critical->value;
    }
  }
}

std::string beyond_framework(const Question& q) {
  const Framework::Engine& engine = q.framework.engine;
  const auto& has = engine.precisions;
  if (has.empty() || std::find(has.begin(), has.end(), q.workload.recipe) != has.end()) return "";
  return q.framework.name + " does not train in " + name(q.workload.recipe) + " [" +
         label(engine.precisions_source) + "]";
}

void read_activation_model(FlagReader& flags, Purpose purpose, Question& q) {
  q.activations = usual_activation_model(purpose, q);
  // The closed forms know whole layers and the attention core only.
  const bool modules = q.fixed.recompute && q.fixed.recompute->kind == Recompute::Kind::kModules &&
                       *q.fixed.recompute != Recompute::kSelective;
  const std::string unknown = modules ? "recomputed modules" : beyond_closed_forms(q);
  if (!flags.told(&Spec::activation_model)) {
    const bool paper = q.activations == ActivationModel::kPaper;
    if (paper && !unknown.empty()) q.activations = ActivationModel::kOps;
    q.assumed.emplace_back(
        !paper ? "activations op by op, with fused attention"
        : unknown.empty()
            ? "activations by the paper's closed forms, which know no working buffers (--activations ops "
              "counts both, as plan does)"
            : "activations op by op: the closed forms of the paper know no " + unknown);
    return;
  }
  const std::string key = name_key(*flags.text(&Spec::activation_model));
  if (key == "paper") q.activations = ActivationModel::kPaper;
  if (key == "ops") q.activations = ActivationModel::kOps;
  if (key == "paper" && !unknown.empty()) {
    flags.fail(&Spec::activation_model, "conflict",
               "the closed forms of the paper know no " +
                   (modules ? "recompute " + name(*q.fixed.recompute) : unknown),
               "--activations ops");
  }
  if (key != "paper" && key != "ops") {
    flags.fail(&Spec::activation_model, "unknown_name", "\"" + key + "\" is not one of its values",
               "one of paper, ops", nearest_name(key, {"paper", "ops"}));
  }
}

}  // namespace shardplan
