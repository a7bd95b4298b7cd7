#include "import/question.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "import/cluster_build.h"
#include "import/defaults.h"
#include "import/flag_reader.h"
#include "import/json_text.h"
#include "import/question_options.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Spec = QuestionSpec;

constexpr std::array kFlags{
    QuestionFlag{"--model", &Spec::model, "catalog name, hub id, config.json or its folder"},
    QuestionFlag{"--preset", &Spec::preset, "catalog name of a model"},
    QuestionFlag{"--params", &Spec::params, "parameters, billions (model by hand)"},
    QuestionFlag{"--layers", &Spec::layers, "layers (model by hand)"},
    QuestionFlag{"--hidden", &Spec::hidden, "hidden size (model by hand)"},
    QuestionFlag{"--heads", &Spec::heads, "attention heads (model by hand)"},
    QuestionFlag{"--kv-heads", &Spec::kv_heads, "key-value heads (model by hand)"},
    QuestionFlag{"--ffn", &Spec::ffn, "MLP width (model by hand)"},
    QuestionFlag{"--vocab", &Spec::vocab, "vocabulary (model by hand)"},
    QuestionFlag{"--head-dim", &Spec::head_dim, "dimension of a head (model by hand)"},
    QuestionFlag{"--cluster", &Spec::cluster, "catalog name or file of a cluster"},
    QuestionFlag{"--gpu", &Spec::gpu, "catalog name of a GPU; its usual node and fabric"},
    QuestionFlag{"--gpus", &Spec::gpus, "number of GPUs"},
    QuestionFlag{"--gpus-per-node", &Spec::gpus_per_node, "GPUs that share a node's own link"},
    QuestionFlag{"--hbm", &Spec::hbm, "memory of a GPU, GiB"},
    QuestionFlag{"--hbm-bw", &Spec::hbm_bw, "memory bandwidth of a GPU, GB/s"},
    QuestionFlag{"--peak-tflops", &Spec::peak_tflops, "dense peak of a GPU in the precision, TFLOP/s"},
    QuestionFlag{"--bw-intra", &Spec::bw_intra, "bandwidth inside a node, GB/s per GPU"},
    QuestionFlag{"--bw-inter", &Spec::bw_inter, "bandwidth between nodes, GB/s per GPU"},
    QuestionFlag{"--latency-intra", &Spec::latency_intra, "latency inside a node, us"},
    QuestionFlag{"--latency-inter", &Spec::latency_inter, "latency between nodes, us"},
    QuestionFlag{"--reserve", &Spec::reserve, "memory held back on each GPU, GiB"},
    QuestionFlag{"--host-memory", &Spec::host_memory, "memory of a node's host that may be filled, GiB"},
    QuestionFlag{"--seq", &Spec::seq, "sequence, tokens"},
    QuestionFlag{"--global-batch", &Spec::global_batch, "batch of a step: sequences, or tokens as 4Mtok"},
    QuestionFlag{
        "--precision", &Spec::precision,
        "precision of matrix products: bf16, fp16, fp8 (scaled by tensor), mxfp8, fp8-blockwise or nvfp4; which copies "
        "are kept is the framework's"},
    QuestionFlag{"--optimizer", &Spec::optimizer,
                 "adamw, adamw-8bit, adamw-bf16, adafactor, lion, muon, sgd"},
    QuestionFlag{"--framework", &Spec::framework, "generic, megatron, torchtitan, deepspeed, fsdp, nanotron"},
    QuestionFlag{"--critical-batch", &Spec::critical_batch, "critical batch, tokens as 2Mtok"},
    QuestionFlag{"--activations", &Spec::activation_model, "paper (closed forms) or ops (op by op)"},
    QuestionFlag{"--dp", &Spec::dp, "data-parallel replicas"},
    QuestionFlag{"--tp", &Spec::tp, "tensor parallelism"},
    QuestionFlag{"--pp", &Spec::pp, "pipeline stages"},
    QuestionFlag{"--cp", &Spec::cp, "context parallelism"},
    QuestionFlag{"--ep", &Spec::ep, "expert parallelism"},
    QuestionFlag{"--etp", &Spec::etp, "tensor parallelism inside an expert"},
    QuestionFlag{"--zero", &Spec::zero, "ZeRO stage, 0 to 3"},
    QuestionFlag{"--micro-batch", &Spec::micro_batch, "sequences of one micro-batch"},
    QuestionFlag{"--interleave", &Spec::interleave, "model chunks a pipeline rank holds"},
    QuestionFlag{"--schedule", &Spec::schedule, "gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe"},
    QuestionFlag{"--recompute", &Spec::recompute,
                 "none, selective, full, full:N, uniform:N, or modules joined by commas"},
    QuestionFlag{"--sp", &Spec::sp, "sequence parallelism: on or off"},
    QuestionFlag{"--shard-group", &Spec::shard_group,
                 "ranks that ZeRO shards over, replicated by the others (hybrid sharding)"},
    QuestionFlag{"--offload", &Spec::offload,
                 "kept in the host's memory: optimizer, params, activations, joined by commas"},
    QuestionFlag{"--lora", &Spec::lora,
                 "train adapters only: RANK, or RANK:q_proj,v_proj,...; attention, mlp, all-linear"},
    QuestionFlag{"--quantized-base", &Spec::quantized_base,
                 "frozen linear layers of --lora (QLoRA): nf4, nf4-dq (double quantization)"},
    QuestionFlag{"--expert-imbalance", &Spec::expert_imbalance,
                 "rows of the fullest rank's experts over those of balanced routing"},
    QuestionFlag{"--capacity-factor", &Spec::capacity_factor,
                 "rows that every expert is padded to over those of balanced routing"},
    QuestionFlag{"--expandable-segments", &Spec::expandable_segments,
                 "of PyTorch's allocator: on or off; changes the reserved peak only"},
    QuestionFlag{"--unsharded-start", &Spec::unsharded_start,
                 "each rank holds its whole weights before ZeRO divides them: on or off"},
    QuestionFlag{"--data-loading", &Spec::data_loading,
                 "s that reading a step's batch takes, beside the step before, or with a unit: 400ms"},
    QuestionFlag{"--tp-overlap", &Spec::tp_overlap, "of tensor-parallel traffic: usual, async, off"},
};

constexpr std::int64_t kSequenceMax = std::int64_t{1} << 32;
constexpr double kBatchMax = 1e9;  // sequences

std::string number_text(std::int64_t v) { return std::to_string(v); }

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

/// The batch that is taken when none is told: about kDefaultBatchTokens, or what the GPUs need.
void take_default_batch(Question& q) {
  const double sequence = static_cast<double>(q.workload.sequence);
  // What the told axes ask for divides it; of the rest, as much as can.
  const std::int64_t told = std::int64_t{q.fixed.dp.value_or(1)} * q.fixed.micro_batch.value_or(1);
  const std::int64_t rest = q.fixed.dp ? 1 : q.cluster.gpus;
  const double exact = std::max(1.0, kDefaultBatchTokens / sequence / static_cast<double>(told));
  const auto near = rest == 1 ? std::llround(exact) : near_round_multiple(exact, rest);
  q.workload.global_batch =
      told * near.value_or(static_cast<std::int64_t>(std::ceil(exact / static_cast<double>(rest))) * rest);
  const double sequences = static_cast<double>(q.workload.global_batch);
  q.assumed.push_back(
      "global batch " + format_count(sequences) + " sequences (" + format_count(sequences * sequence) +
      " tokens): " +
      (near ? "about 4 Mi tokens" : "a multiple of the GPUs, as none near 4 Mi tokens divides"));
}

void read_batch(FlagReader& flags, Purpose purpose, Question& q) {
  const std::string expected = "whole sequences, such as 512, or tokens, such as 4Mtok";
  if (!flags.told(&Spec::global_batch)) {
    if (purpose == Purpose::kPlan) take_default_batch(q);
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
  q.workload.global_batch = sequences_of(sequences, q.cluster.gpus);
  if (batch->is_tokens) {
    q.assumed.push_back("global batch " + typed + " read as " + number_text(q.workload.global_batch) +
                        " sequences of " + number_text(q.workload.sequence) + " tokens");
  }
}

std::optional<PrecisionRecipe> read_recipe(FlagReader& flags, Question& q) {
  using R = PrecisionRecipe;
  if (flags.told(&Spec::precision) && name_key(*flags.text(&Spec::precision)) == name(Precision::kFp4)) {
    q.assumed.push_back(std::string("fp4 scaled as ") + name(R::kNvfp4));
    return precision_recipe_named(name(Precision::kFp4));
  }
  const auto recipe =
      flags.choice(&Spec::precision, {R::kBf16, R::kFp16, R::kFp8, R::kMxfp8, R::kFp8Blockwise, R::kNvfp4});
  if (recipe == R::kMxfp8 && q.cluster.device.before_block_scales()) {
    flags.fail(&Spec::precision, "unsupported",
               q.cluster.device.name + " has no " + name(*recipe) + " products",
               std::string("one of ") + name(R::kFp8) + ", " + name(R::kFp8Blockwise));
  }
  return recipe;
}

void read_precision(FlagReader& flags, Question& q) {
  // The account of memory keeps 16-bit weights and activations: full precision would need twice that.
  const auto recipe = read_recipe(flags, q);
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

void read_workload(FlagReader& flags, Purpose purpose, Question& q) {
  const auto sequence = flags.integer(&Spec::seq, 1, kSequenceMax);
  q.workload.sequence = sequence.value_or(kDefaultSequence);
  if (!sequence) q.assumed.push_back("sequence " + number_text(kDefaultSequence));
  const auto optimizer = flags.choice(
      &Spec::optimizer, {Optimizer::kAdamW, Optimizer::kAdamW8bit, Optimizer::kAdamWBf16,
                         Optimizer::kAdafactor, Optimizer::kLion, Optimizer::kMuon, Optimizer::kSgd});
  q.workload.optimizer = optimizer.value_or(kDefaultOptimizer);
  if (!optimizer) q.assumed.push_back(std::string("optimizer ") + name(kDefaultOptimizer));
  read_precision(flags, q);
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

/// `memory` of the generic accounting takes the closed forms that go with it, which are the papers' too; what
/// a named framework keeps is counted op by op, as everything but `memory` counts.
ActivationModel usual_activation_model(Purpose purpose, const Question& q) {
  return purpose == Purpose::kMemory && q.framework.name == kDefaultFramework ? ActivationModel::kPaper
                                                                              : ActivationModel::kOps;
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

void read_framework(FlagReader& flags, const Catalog& catalog, Question& q) {
  const auto& told = flags.text(&Spec::framework);
  const auto found = find_framework(catalog, told.value_or(kDefaultFramework), "--framework");
  if (!found) return flags.fail(found.error());
  q.framework = **found;
  const StateBytes& state = q.framework.state[static_cast<std::size_t>(q.workload.optimizer)];
  if (!told) {
    q.assumed.push_back("framework " + q.framework.name + ": " + format_number(state.total().raw()) +
                        " bytes a parameter");
  }
  if (q.fixed.zero_stage && !q.framework.zero[static_cast<std::size_t>(*q.fixed.zero_stage)].allowed) {
    std::string stages;
    for (std::size_t z = 0; z < q.framework.zero.size(); ++z) {
      if (q.framework.zero[z].allowed) stages += (stages.empty() ? "one of " : ", ") + std::to_string(z);
    }
    flags.fail(&Spec::zero, "unsupported",
               q.framework.name + " has no ZeRO stage " + number_text(*q.fixed.zero_stage), stages);
  }
}

std::optional<Error> too_many_layer_kinds(const Model& model) {
  std::vector<const Layer*> distinct;
  for (const Layer& layer : model.layers) {
    if (std::none_of(distinct.begin(), distinct.end(), [&](const Layer* l) { return *l == layer; }))
      distinct.push_back(&layer);
  }
  if (distinct.size() <= kDistinctLayersMax) return std::nullopt;
  return Error{"unsupported", model.name + " has " + std::to_string(distinct.size()) + " different layers",
               "--model", "at most " + std::to_string(kDistinctLayersMax) + " different layers", ""};
}

/// The told degrees must fit into the GPUs, whatever else is searched.
std::optional<Error> degrees_that_do_not_fit(const Question& q) {
  std::int64_t product = 1;
  std::string told;
  for (const auto& [axis, degree] :
       {std::pair{"dp", q.fixed.dp}, {"tp", q.fixed.tp}, {"pp", q.fixed.pp}, {"cp", q.fixed.cp}}) {
    if (!degree) continue;
    product *= *degree;
    told += (told.empty() ? "" : " x ") + std::string(axis) + " " + number_text(*degree);
    if (product > kGpusMax) break;
  }
  const bool all = q.fixed.dp && q.fixed.tp && q.fixed.pp && q.fixed.cp;
  if (all && product != q.cluster.gpus) {
    return Error{"not_divisible", told + " is not " + number_text(q.cluster.gpus) + " GPUs", "--gpus",
                 number_text(product), ""};
  }
  if (q.cluster.gpus % product == 0) return std::nullopt;
  return Error{"not_divisible", told + " does not divide " + number_text(q.cluster.gpus) + " GPUs", "--gpus",
               "a multiple of " + number_text(product), ""};
}

/// What people type and no estimate models yet is refused as such, not as a slip of spelling.
void refuse_unmodelled(FlagReader& flags) {
  for (const Precision p : {Precision::kFp32, Precision::kTf32, Precision::kInt8}) {
    if (!flags.told(&Spec::precision) || name_key(*flags.text(&Spec::precision)) != name(p)) continue;
    flags.fail(&Spec::precision, "unsupported", std::string("training in ") + name(p) + " is not modelled",
               "one of bf16, fp16, fp8, mxfp8, fp8-blockwise, nvfp4");
  }
}

/// "full:4", "moe_act,layernorm": what is wrong with a spelling, and the nearest that is right.
std::optional<Recompute> read_recompute(FlagReader& flags) {
  if (!flags.told(&Spec::recompute)) return std::nullopt;
  const std::string key = name_key(*flags.text(&Spec::recompute));
  if (const auto named = recompute_named(key)) return named;
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

bool has_module(const Model& model, Module module) {
  return std::any_of(model.layers.begin(), model.layers.end(), [&](const Layer& layer) {
    const auto* moe = std::get_if<MoeMlp>(&layer.mlp);
    switch (module) {
      case Module::kLayerNorm:
        return true;
      case Module::kMlaUpProjection:
        return std::holds_alternative<LatentAttention>(layer.mixer);
      case Module::kMlp:
        return std::holds_alternative<DenseMlp>(layer.mlp);
      case Module::kMoe:
      case Module::kMoeActivation:
        return moe != nullptr;
      case Module::kSharedExperts:
        return moe != nullptr && moe->shared_width > 0;
      case Module::kCoreAttention:
        break;
    }
    return true;
  });
}

/// The model must have what is to be recomputed: a run that named it otherwise would not start, or save
/// nothing.
void check_recompute(FlagReader& flags, const Question& q) {
  if (!q.fixed.recompute) return;
  const Recompute& recompute = *q.fixed.recompute;
  const auto layers = static_cast<std::int64_t>(q.model.layers.size());
  if (recompute.whole_layers() && recompute.layers > layers) {
    flags.fail(&Spec::recompute, "out_of_range",
               name(recompute) + " of the " + number_text(layers) + " layers of " + q.model.name,
               "at most " + number_text(layers) + " layers");
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

void check_schedule(FlagReader& flags, const FixedAxes& axes) {
  if (!axes.schedule || !axes.interleave) return;
  if ((*axes.schedule == Schedule::kInterleaved) == (*axes.interleave > 1)) return;
  flags.fail(
      &Spec::interleave, "conflict",
      std::string("schedule ") + name(*axes.schedule) + " with interleave " + number_text(*axes.interleave),
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
  if (!q.fixed.dp) result.assumed.push_back("dp " + number_text(replicas) + ": the GPUs that remain");
  if (p.gpus() == q.cluster.gpus) return std::nullopt;
  return Error{"not_divisible",
               "dp " + number_text(p.dp) + " x tp " + number_text(p.tp) + " x pp " + number_text(p.pp) +
                   " x cp " + number_text(p.cp) + " is not " + number_text(q.cluster.gpus) + " GPUs",
               "--gpus", number_text(p.gpus()), ""};
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
  result.assumed.push_back("ZeRO stage " + number_text(stage) + ": the fullest sharding that " +
                           q.framework.name + " has");
}

void take_pipeline(const Question& q, MemoryPlan& result) {
  Plan& p = result.plan;
  const bool interleaved = q.fixed.schedule == Schedule::kInterleaved;
  p.interleave = q.fixed.interleave.value_or(interleaved ? kInterleavedChunks : 1);
  if (interleaved && !q.fixed.interleave) {
    result.assumed.push_back("interleave " + number_text(kInterleavedChunks));
  }
  p.schedule = q.fixed.schedule.value_or(p.interleave > 1 ? Schedule::kInterleaved : Schedule::k1F1B);
  if (p.pp > 1 && !q.fixed.schedule) result.assumed.push_back(std::string("schedule ") + name(p.schedule));
}

std::optional<Error> take_batch(const Question& q, MemoryPlan& result) {
  Plan& p = result.plan;
  p.micro_batch = q.fixed.micro_batch.value_or(kMemoryMicroBatch);
  if (!q.fixed.micro_batch) result.assumed.push_back("micro-batch " + number_text(kMemoryMicroBatch));
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
                 "global batch " + number_text(q.workload.global_batch) +
                     " is not a multiple of dp x micro-batch = " + number_text(each),
                 "--global-batch", "a multiple of " + number_text(each), ""};
  }
  p.grad_accumulation = static_cast<std::int32_t>(q.workload.global_batch / each);
  return std::nullopt;
}

}  // namespace

std::span<const QuestionFlag> question_flags() { return kFlags; }

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
  if (const auto stage = flags.integer(&Spec::zero, 0, 3)) axes.zero_stage = static_cast<std::int8_t>(*stage);
  refuse_unmodelled(flags);
  axes.recompute = read_recompute(flags);
  axes.schedule = flags.choice(&Spec::schedule, {Schedule::kGpipe, Schedule::k1F1B, Schedule::kInterleaved,
                                                 Schedule::kZbH1, Schedule::kZbV, Schedule::kDualPipe});
  axes.sequence_parallel = flags.boolean(&Spec::sp);
  axes.offload = read_offload(flags);
  if (const auto ranks = flags.integer(&Spec::shard_group, 2, kGpusMax))
    axes.shard_group = static_cast<std::int32_t>(*ranks);
  check_schedule(flags, axes);
  if (flags.error()) return *flags.error();
  return axes;
}

Result<Question> build_question(const QuestionSpec& spec, const Catalog& catalog) {
  Question q;
  Result<Model> model = build_model(spec, catalog, q.notes);
  if (!model) return model.error();
  q.model = std::move(model).value();
  if (auto error = too_many_layer_kinds(q.model)) return *error;
  Result<Cluster> cluster = build_cluster(spec, catalog, q.notes);
  if (!cluster) return cluster.error();
  q.cluster = std::move(cluster).value();
  Result<FixedAxes> axes = parse_axes(spec);
  if (!axes) return axes.error();
  q.fixed = *axes;
  if (auto error = degrees_that_do_not_fit(q)) return *error;
  FlagReader flags(spec);
  read_workload(flags, spec.purpose, q);
  read_framework(flags, catalog, q);
  check_recompute(flags, q);
  check_offload(flags, q);
  read_adapters(flags, catalog, q);
  read_expert_load(flags, q);
  read_allocation(flags, q);
  read_data_loading(flags, q);
  read_tensor_overlap(flags, q);
  read_activation_model(flags, spec.purpose, q);
  if (flags.error()) return *flags.error();
  if (!q.model.quantization.method.empty()) {
    q.assumed.push_back(q.model.name + " is stored in " + q.model.quantization.method +
                        "; training keeps its weights in 16 bits");
  }
  const std::int64_t longest = q.model.max_positions;
  if (longest > 0 && q.workload.sequence > longest) {
    q.notes.push_back("the sequence of " + number_text(q.workload.sequence) + " tokens is longer than the " +
                      number_text(longest) + " positions of " + q.model.name);
  }
  for (const std::string& line : q.cluster.assumed) q.assumed.push_back(line);
  for (const std::string& line : q.model.assumed) q.assumed.push_back(q.model.name + ": " + line);
  return q;
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
  if (p.recompute.layers > longest) {
    result.assumed.push_back("recompute " + name(p.recompute) + " takes in whole chunks: the longest has " +
                             number_text(longest) + " layers");
  }
  p.offload = q.fixed.offload.value_or(0);
  p.shard_group = q.fixed.shard_group.value_or(0);
  p.sequence_parallel = q.fixed.sequence_parallel.value_or(p.tp > 1);
  if (p.tp > 1 && !q.fixed.sequence_parallel) result.assumed.emplace_back("sequence parallelism with tp > 1");
  return result;
}

}  // namespace shardplan
