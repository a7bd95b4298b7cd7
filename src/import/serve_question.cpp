#include "import/serve_question.h"

#include <algorithm>
#include <array>
#include <vector>

#include "import/defaults.h"
#include "import/flag_reader.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Spec = ServeSpec;

constexpr double kMilli = 1e-3;
constexpr std::int64_t kContextMax = std::int64_t{1} << 32, kBatchMax = 1'000'000;

/// The shared flags that serving reads: the others speak of a training step.
constexpr std::array<QuestionSpec::Flag QuestionSpec::*, 25> kShared{&Spec::model,
                                                                     &Spec::preset,
                                                                     &Spec::params,
                                                                     &Spec::layers,
                                                                     &Spec::hidden,
                                                                     &Spec::heads,
                                                                     &Spec::kv_heads,
                                                                     &Spec::ffn,
                                                                     &Spec::vocab,
                                                                     &Spec::head_dim,
                                                                     &Spec::cluster,
                                                                     &Spec::gpu,
                                                                     &Spec::gpus,
                                                                     &Spec::gpus_per_node,
                                                                     &Spec::topology,
                                                                     &Spec::hbm,
                                                                     &Spec::hbm_bw,
                                                                     &Spec::peak_tflops,
                                                                     &Spec::bw_intra,
                                                                     &Spec::bw_inter,
                                                                     &Spec::latency_intra,
                                                                     &Spec::latency_inter,
                                                                     &Spec::reserve,
                                                                     &Spec::tp,
                                                                     &Spec::pp};

constexpr std::array kOwn{
    ServeFlag{"--seq", &Spec::seq, "context of each sequence, tokens; also the length of a prompt"},
    ServeFlag{"--batch", &Spec::batch, "sequences that a replica decodes together"},
    ServeFlag{"--tpot-ms", &Spec::tpot_ms, "most time for each output token, ms"}};

std::vector<ServeFlag> all_flags() {
  std::vector<ServeFlag> flags;
  for (const QuestionFlag& f : question_flags()) {
    if (std::find(kShared.begin(), kShared.end(), f.text) != kShared.end())
      flags.push_back({f.flag, f.text, f.help});
  }
  flags.insert(flags.end(), kOwn.begin(), kOwn.end());
  return flags;
}

/// The heads cut over the ranks of a replica, and nothing else of a plan.
FixedAxes serving_axes(const std::optional<std::int32_t>& tensor) {
  FixedAxes axes;
  axes.tp = tensor;
  axes.pp = axes.cp = axes.ep = axes.etp = axes.micro_batch = axes.interleave = 1;
  axes.zero_stage = 0;
  axes.schedule = Schedule::k1F1B;
  axes.recompute = Recompute::kNone;
  axes.sequence_parallel = false;
  return axes;
}

void read_plan(FlagReader& flags, Question& q) {
  q.fixed = serving_axes(flags.degree(&Spec::tp));
  if (flags.degree(&Spec::pp).value_or(1) > 1) {
    flags.fail(&Spec::pp, "unsupported", "pipeline stages in serving are not modelled yet", "1");
  }
}

std::optional<Error> read_load(const Spec& spec, ServeQuestion& q) {
  FlagReader flags(spec);
  const auto context = flags.integer(&QuestionSpec::seq, 1, kContextMax);
  if (flags.error()) return *flags.error();
  q.question.workload.sequence = context.value_or(kDefaultSequence);
  std::vector<std::string>& assumed = q.question.assumed;
  if (!context) assumed.push_back("context " + std::to_string(kDefaultSequence) + " tokens");
  q.batch = kServeBatch;
  if (spec.batch) {
    const Result<std::int64_t> batch = read_whole("--batch", *spec.batch, 1, kBatchMax);
    if (!batch) return batch.error();
    q.batch = *batch;
  } else {
    assumed.push_back("batch " + std::to_string(kServeBatch));
  }
  if (!spec.tpot_ms) return std::nullopt;
  const Result<Seconds<>> limit = read_flag<Seconds<>>("--tpot-ms", *spec.tpot_ms, parse_seconds, kMilli,
                                                       kStepLimits, "ms, such as 25, or with a unit: 0.025s");
  if (!limit) return limit.error();
  q.tpot_limit = *limit;
  return std::nullopt;
}

std::optional<Error> unmodelled(const ServeQuestion& q) {
  const Model& model = q.question.model;
  if (const auto what = unmodelled_decode(model, q.context())) {
    return Error{"unsupported", "serving " + model.name + " is not modelled yet: it has " + *what, "--model",
                 "a dense decoder whose attention reaches the whole context", ""};
  }
  const Device& device = q.question.cluster.device;
  const auto known = [](const auto& figures) {
    return figures[static_cast<std::size_t>(Precision::kBf16)] ||
           figures[static_cast<std::size_t>(Precision::kFp16)];
  };
  if (known(device.peak) && known(device.efficiency.gemm)) return std::nullopt;
  return Error{"unsupported", device.name + " has no 16-bit rate", "--gpu",
               "a GPU with one, or --peak-tflops", ""};
}

void say_assumptions(ServeQuestion& serve) {
  Question& q = serve.question;
  std::vector<std::string>& assumed = q.assumed;
  assumed.emplace_back("weights, cache and activations in 16 bits");
  if (!q.model.quantization.method.empty()) {
    assumed.back() +=
        ", though " + q.model.name + " is stored in " + q.model.quantization.method + ": an upper bound";
  }
  assumed.emplace_back(
      "every sequence has its whole context in the cache; a prompt is as long, and waits for nothing");
  assumed.emplace_back(
      "beside weights and cache a GPU keeps nothing but the reserve: activations of a prompt are left out");
  const std::int64_t longest = q.model.max_positions;
  if (longest > 0 && serve.context() > longest) {
    q.notes.push_back("the context of " + std::to_string(serve.context()) + " tokens is longer than the " +
                      std::to_string(longest) + " positions of " + q.model.name);
  }
  for (const std::string& line : q.cluster.assumed) assumed.push_back(line);
  for (const std::string& line : q.model.assumed) {
    // Time here follows the parameters and the heads; logits are no term of their own.
    if (!line.starts_with("no vocabulary")) assumed.push_back(q.model.name + ": " + line);
  }
}

}  // namespace

std::span<const ServeFlag> serve_flags() {
  static const std::vector<ServeFlag> kFlags = all_flags();
  return kFlags;
}

Result<ServeQuestion> build_serve_question(const ServeSpec& spec, const Catalog& catalog) {
  ServeQuestion serve;
  Question& q = serve.question;
  q.risk = &catalog.risk;
  Result<Model> model = build_model(spec, catalog, q.notes);
  if (!model) return model.error();
  q.model = std::move(model).value();
  Result<Cluster> cluster = build_cluster(spec, catalog, q.notes);
  if (!cluster) return cluster.error();
  q.cluster = std::move(cluster).value();
  // Which degrees are legal is asked of the rules for training: any framework allows the unsharded plan.
  const auto framework = find_framework(catalog, kDefaultFramework, "--framework");
  if (!framework) return framework.error();
  q.framework = **framework;
  FlagReader flags(spec);
  read_plan(flags, q);
  if (flags.error()) return *flags.error();
  if (auto error = read_load(spec, serve)) return *error;
  if (auto error = unmodelled(serve)) return *error;
  say_assumptions(serve);
  return serve;
}

}  // namespace shardplan
