#include "import/serve_question.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "catalog/serve_format.h"
#include "import/defaults.h"
#include "import/flag_reader.h"
#include "import/json_text.h"
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
    ServeFlag{"--input", &Spec::input, "tokens of a prompt, on average"},
    ServeFlag{"--output", &Spec::output, "tokens of an answer, on average"},
    ServeFlag{"--seq", &Spec::seq,
              "tokens of the longest request; without --input the length of a prompt, all in the cache"},
    ServeFlag{"--batch", &Spec::batch, "requests at once of each replica; searched where a goal asks for it"},
    ServeFlag{"--engine", &Spec::engine, "vllm, sglang, trtllm, or generic: no engine's floors and shares"},
    ServeFlag{"--precision", &Spec::precision,
              "of the weights: stored, bf16, fp8, int8, int4, awq, gptq, mxfp4, nvfp4"},
    ServeFlag{"--kv-precision", &Spec::kv_precision, "of the cache: bf16 or fp8"},
    ServeFlag{"--tpot-ms", &Spec::tpot_ms, "most time for each output token, ms"},
    ServeFlag{"--ttft-ms", &Spec::ttft_ms, "most time to the first token, ms"},
    ServeFlag{"--percentile", &Spec::percentile,
              "of 100 requests those that keep the limits, 50 to 99.9; without it the mean is held"},
    ServeFlag{"--rate", &Spec::rate, "requests that come in a second, all replicas together"},
    ServeFlag{"--objective", &Spec::objective,
              "latency, tokens-per-gpu, or gpus: the fewest that carry --rate"},
    ServeFlag{"--mode", &Spec::mode,
              "where prompts are computed: aggregated, disaggregated (by replicas of their own), either"},
    ServeFlag{"--dp-attention", &Spec::dp_attention,
              "groups of attention in a replica of a mixture, each with its own requests"},
    ServeFlag{"--memory-share", &Spec::memory_share,
              "what the engine may fill: 0.9, by the engine's own rule"},
    ServeFlag{"--max-requests", &Spec::max_requests, "that the engine lets run at once"},
    ServeFlag{"--max-prompt-tokens", &Spec::max_prompt_tokens, "of prompts that a step computes at most"},
    ServeFlag{"--graphs", &Spec::graphs, "steps are captured as graphs: on or off"},
    ServeFlag{"--draft-tokens", &Spec::draft_tokens, "tokens guessed ahead and verified in one step"},
    ServeFlag{"--accepted", &Spec::accepted, "tokens that such a step makes on average, 1 to guesses + 1"}};

std::vector<ServeFlag> all_flags() {
  std::vector<ServeFlag> flags;
  for (const QuestionFlag& f : question_flags()) {
    if (std::find(kShared.begin(), kShared.end(), f.text) != kShared.end())
      flags.push_back({f.flag, f.text, f.help});
  }
  flags.insert(flags.end(), kOwn.begin(), kOwn.end());
  return flags;
}

struct Reader {
  const Spec& spec;
  const Catalog& catalog;
  ServeQuestion& q;
  std::optional<Error> error = std::nullopt;

  std::vector<std::string>& assumed() { return q.question.assumed; }
  void fail(Error complaint) {
    if (!error) error = std::move(complaint);
  }
  std::optional<std::int64_t> whole(const char* flag, const Spec::Flag& text, std::int64_t low,
                                    std::int64_t high) {
    if (!text) return std::nullopt;
    const Result<std::int64_t> value = read_whole(flag, *text, low, high);
    if (!value) {
      fail(value.error());
      return std::nullopt;
    }
    return *value;
  }
  std::optional<double> number(const char* flag, const Spec::Flag& text, double low, double high,
                               const char* expected) {
    if (!text) return std::nullopt;
    const auto value = parse_number(*text);
    if (value && *value >= low && *value <= high) return value;
    fail({value ? "out_of_range" : "bad_value",
          quoted_flag_text(*text) + (value ? " is out of range" : " is not understood"), flag,
          std::string(expected) + ", between " + format_number(low) + " and " + format_number(high), ""});
    return std::nullopt;
  }
  std::optional<Seconds<>> limit(const char* flag, const Spec::Flag& text) {
    if (!text) return std::nullopt;
    const Result<Seconds<>> value = read_flag<Seconds<>>(flag, *text, parse_seconds, kMilli, kStepLimits,
                                                         "ms, such as 25, or with a unit: 0.025s");
    if (!value) {
      fail(value.error());
      return std::nullopt;
    }
    return *value;
  }
  template <class Enum>
  std::optional<Enum> choice(const char* flag, const Spec::Flag& text, std::initializer_list<Enum> values) {
    if (!text) return std::nullopt;
    std::vector<std::string> names;
    for (const Enum v : values) {
      if (name_key(*text) == name(v)) return v;
      names.emplace_back(name(v));
    }
    fail({"unknown_name", quoted_flag_text(*text) + " is none of them", flag, one_of(names),
          nearest_name(*text, names)});
    return std::nullopt;
  }
};

void read_engine(Reader& r) {
  const Cluster& cluster = r.q.question.cluster;
  const auto& launch = r.catalog.collectives.launchers[static_cast<std::size_t>(Launcher::kDeviceKernel)];
  r.q.launch = launch;
  std::string name =
      r.spec.engine ? name_key(*r.spec.engine) : (cluster.collectives ? "vllm" : kGenericEngine);
  if (!r.spec.engine) {
    r.assumed().emplace_back(name == kGenericEngine ? "no engine: kernels and links as the cluster has them"
                                                    : "engine vllm");
  }
  if (name == kGenericEngine) {
    r.q.time = ideal_engine(cluster.device);
    r.q.memory.name = name;
    r.q.memory.block = {ratio(1),
                        {SourceKind::kAssumed, "no engine", "no blocks without an engine", "", "", ""}};
    return;
  }
  const auto memory = find_serving_memory(r.catalog, name, "--engine");
  const auto time = memory ? find_serving_time(r.catalog, (*memory)->name, "--engine")
                           : Result<const ServingTime*>(memory.error());
  if (!time) {
    std::vector<std::string> names{kGenericEngine};
    for (const ServingTime& t : r.catalog.serving_times) names.push_back(t.name);
    return r.fail({"unknown_name", "no serving engine " + quoted_flag_text(*r.spec.engine), "--engine",
                   one_of(names), nearest_name(name, names)});
  }
  r.q.time = **time;
  r.q.memory = **memory;
  r.q.limits = default_limits(r.q.memory, cluster.device);
}

void read_engine_limits(Reader& r) {
  const Source told{SourceKind::kUser, "flag", "flag", "", "", ""};
  const bool generic = r.q.memory.rule == PoolRule::kReserve;
  for (const auto& [flag, text] :
       {std::pair{"--memory-share", &r.spec.memory_share}, std::pair{"--max-requests", &r.spec.max_requests},
        std::pair{"--max-prompt-tokens", &r.spec.max_prompt_tokens}}) {
    if (*text && generic)
      return r.fail({"conflict", std::string(flag) + " is of an engine, and none is told", flag,
                     "--engine vllm, sglang or trtllm", ""});
  }
  constexpr double kLeastShare = 0.05;
  if (const auto v = r.number("--memory-share", r.spec.memory_share, kLeastShare, 1, "a share"))
    r.q.limits.share = {ratio(*v), told};
  if (const auto v = r.whole("--max-requests", r.spec.max_requests, 1, kBatchMax))
    r.q.limits.requests = {ratio(static_cast<double>(*v)), told};
  if (const auto v = r.whole("--max-prompt-tokens", r.spec.max_prompt_tokens, 1, kContextMax))
    r.q.limits.prompt_tokens = {ratio(static_cast<double>(*v)), told};
}

void read_graphs(Reader& r) {
  if (!r.spec.graphs) return;
  const Result<bool> on = read_switch("--graphs", *r.spec.graphs);
  if (!on) return r.fail(on.error());
  if (r.q.memory.rule == PoolRule::kReserve)
    return r.fail({"conflict", "--graphs is of an engine, and none is told", "--graphs",
                   "--engine vllm, sglang or trtllm", ""});
  r.q.graphs = *on;
  if (!*on) r.q.launch = r.q.time.eager;
}

void read_formats(Reader& r) {
  constexpr double kByteBits = 8;
  const Question& q = r.q.question;
  const std::string stored = "stored";
  const std::string name = r.spec.precision ? name_key(*r.spec.precision) : stored;
  if (name == stored) {
    r.q.format = stored_format(q.model, q.cluster.device);
    if (!r.spec.precision)
      r.assumed().push_back("weights in " + r.q.format.name +
                            (q.model.quantization.method.empty() ? "" : " in the checkpoint"));
  } else if (const auto format = told_format(name, q.model, q.cluster.device)) {
    r.q.format = *format;
  } else {
    std::vector<std::string> names = serve_format_names();
    names.insert(names.begin(), stored);
    return r.fail({"unknown_name", "no format of weights " + quoted_flag_text(*r.spec.precision),
                   "--precision", one_of(names), nearest_name(name, names)});
  }
  const std::string cache = r.spec.kv_precision ? name_key(*r.spec.kv_precision) : "bf16";
  if (!r.spec.kv_precision) r.assumed().emplace_back("cache in bf16");
  const std::vector<std::string> names{"bf16", "fp16", "fp8"};
  if (std::find(names.begin(), names.end(), cache) == names.end())
    return r.fail({"unknown_name", "no format of the cache " + quoted_flag_text(*r.spec.kv_precision),
                   "--kv-precision", one_of(names), nearest_name(cache, names)});
  if (cache == "fp8") r.q.format.cache_bits = kByteBits;
}

void read_lengths(Reader& r) {
  Question& q = r.q.question;
  const auto context = r.whole("--seq", r.spec.seq, 1, kContextMax);
  const auto input = r.whole("--input", r.spec.input, 1, kContextMax);
  const auto output = r.whole("--output", r.spec.output, 1, kContextMax);
  if (r.error) return;
  r.q.output = static_cast<double>(output.value_or(0));
  r.q.input = static_cast<double>(
      input.value_or(context ? std::max<std::int64_t>(1, *context - output.value_or(0)) : kDefaultSequence));
  if (!input && !context) r.assumed().push_back("prompts of " + std::to_string(kDefaultSequence) + " tokens");
  const auto longest = static_cast<std::int64_t>(r.q.input + r.q.output);
  if (context && *context < longest)
    return r.fail(
        {"conflict",
         "requests of " + std::to_string(longest) + " tokens are longer than " + std::to_string(*context),
         "--seq", "at least --input and --output together", std::to_string(longest)});
  q.workload.sequence = context.value_or(longest);
  if (!output)
    r.assumed().emplace_back(
        "answers of no told length (--output): no other request's prompt comes between tokens");
}

void read_limits(Reader& r) {
  r.q.tpot_limit = r.limit("--tpot-ms", r.spec.tpot_ms);
  r.q.ttft_limit = r.limit("--ttft-ms", r.spec.ttft_ms);
  constexpr double kLeast = 50, kMost = 99.9, kHundred = 100;
  if (const auto p = r.number("--percentile", r.spec.percentile, kLeast, kMost, "requests of 100"))
    r.q.percentile = *p / kHundred;
  constexpr double kRateMost = 1e9, kRateLeast = 1e-6;
  if (const auto rate = r.number("--rate", r.spec.rate, kRateLeast, kRateMost, "requests a second"))
    r.q.rate = per_s(*rate);
  const auto mode =
      r.choice("--mode", r.spec.mode, {PromptPlace::kTogether, PromptPlace::kApart, PromptPlace::kEither});
  r.q.place = mode.value_or(PromptPlace::kTogether);
  for (const auto& [flag, needs] :
       {std::pair{"--rate", r.q.rate.has_value()}, std::pair{"--percentile", r.q.percentile.has_value()},
        std::pair{"--mode", r.q.place != PromptPlace::kTogether}}) {
    if (needs && r.q.output == 0)
      r.fail({"missing_flag", std::string(flag) + " needs to know how long answers are", "--output",
              "tokens of an answer, on average", ""});
  }
}

/// What is made best where no objective is told: the fewest GPUs for a rate, the most tokens within a limit,
/// else the fastest token.
void read_goal(Reader& r) {
  r.q.batch = r.whole("--batch", r.spec.batch, 1, kBatchMax);
  const auto goal = r.choice("--objective", r.spec.objective,
                             {ServeGoal::kLatency, ServeGoal::kTokensPerGpu, ServeGoal::kGpus});
  if (goal == ServeGoal::kGpus && !r.q.rate)
    return r.fail(
        {"missing_flag", "objective gpus needs --rate", "--objective", "--rate, requests a second", ""});
  const bool free = !r.q.batch && (r.q.limited() || r.q.place != PromptPlace::kTogether);
  r.q.goal =
      goal.value_or(r.q.rate ? ServeGoal::kGpus : (free ? ServeGoal::kTokensPerGpu : ServeGoal::kLatency));
  if (!goal) r.assumed().push_back(std::string("objective ") + name(r.q.goal));
  if (r.q.goal == ServeGoal::kLatency && !r.q.batch && !r.q.rate) {
    r.q.batch = kServeBatch;
    r.assumed().push_back("batch " + std::to_string(kServeBatch));
  }
}

void read_drafts(Reader& r) {
  constexpr std::int64_t kMostGuesses = 16;
  const auto guesses = r.whole("--draft-tokens", r.spec.draft_tokens, 1, kMostGuesses);
  if (r.spec.accepted.has_value() != r.spec.draft_tokens.has_value())
    return r.fail({"missing_flag", "guesses need to know how many tokens a step makes of them",
                   r.spec.accepted ? "--draft-tokens" : "--accepted", "both or neither", ""});
  if (!guesses) return;
  const auto made = r.number("--accepted", r.spec.accepted, 1, static_cast<double>(*guesses + 1),
                             "tokens of a step, its own one in");
  if (made) r.q.drafts = {*guesses, *made};
}

void read_split(Reader& r) {
  r.q.tensor = r.whole("--tp", r.spec.tp, 1, kGpusMax);
  r.q.pipeline = r.whole("--pp", r.spec.pp, 1, kGpusMax);
  r.q.data = r.whole("--dp-attention", r.spec.dp_attention, 1, kGpusMax);
}

std::optional<Error> unmodelled(const ServeQuestion& q) {
  const Model& model = q.question.model;
  if (const auto what = unmodelled_decode(model)) {
    return Error{"unsupported", "serving " + model.name + " is not modelled yet: it has " + *what, "--model",
                 "a decoder of attention, latent attention, delta nets or Mamba", ""};
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
  assumed.emplace_back(serve.output > 0
                           ? "as many requests as run are always there, all of the mean lengths"
                           : "every request has its whole context in the cache; a prompt waits for "
                             "nothing");
  if (serve.memory.rule == PoolRule::kReserve) {
    assumed.emplace_back(
        "beside weights and cache a GPU keeps nothing but the reserve: activations of a prompt are left out");
  } else {
    assumed.push_back(serve.memory.name + ": " + serve.memory.share_flag + " " +
                      format_number(serve.limits.share.value.raw()));
  }
  const std::int64_t longest = q.model.max_positions;
  if (longest > 0 && serve.context() > longest) {
    q.notes.push_back("the context of " + std::to_string(serve.context()) + " tokens is longer than the " +
                      std::to_string(longest) + " positions of " + q.model.name);
  }
  for (const std::string& line : q.cluster.assumed) {
    // An engine has a share of the memory, no reserve.
    if (serve.memory.rule == PoolRule::kReserve || !line.starts_with("reserve ")) assumed.push_back(line);
  }
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
  Reader r{spec, catalog, serve};
  for (const auto read : {read_engine, read_engine_limits, read_graphs, read_lengths, read_formats,
                          read_limits, read_goal, read_drafts, read_split}) {
    read(r);
    if (r.error) return *r.error;
  }
  if (auto error = unmodelled(serve)) return *error;
  say_assumptions(serve);
  return serve;
}

}  // namespace shardplan
