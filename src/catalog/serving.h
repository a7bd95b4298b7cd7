// A question about serving: a model on a cluster under an engine, the requests that come, and how late a
// token may be.
//
//   ServeQuestion q;   q.input = 1024;  q.output = 256;  q.tpot_limit = milliseconds(25);
//
// Put together and checked by import/serve_question.h, answered by reason/serve_answer.h. Not here: costs
// (estimate/serve.h), which splits are legal (search/serve_search.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "catalog/question.h"
#include "catalog/serving_memory.h"
#include "catalog/serving_time.h"

namespace shardplan {

/// In how many bits a replica keeps what it reads, and in which format its products are computed. Bits have
/// the scales of a block in them; they are means where layers of a kind differ.
struct ServeFormat {
  Precision products = Precision::kBf16;
  double attention_bits = 16, mlp_bits = 16, expert_bits = 16, head_bits = 16, cache_bits = 16;
  std::int64_t expert_multiple = 1;  // kernels pad the widths of experts to multiples of it
  std::int64_t block = 1;            // weights of a row or column that share a scale: a cut keeps them whole
  std::string name = "bf16";         // as people say it: "fp8, as stored"
};

/// How one replica is cut. Attention is over `tensor` ranks and repeated on `data` of such groups, which have
/// requests of their own; experts are over all GPUs of a stage.
struct ServeSplit {
  std::int64_t tensor = 1, pipeline = 1, data = 1;
  std::int64_t stage_gpus() const { return tensor * data; }
  std::int64_t gpus() const { return stage_gpus() * pipeline; }
  bool operator==(const ServeSplit&) const = default;
};

struct ServeLoad {
  std::int64_t batch = 1;          // requests that run at once on the replica
  double input = 1;                // tokens of a prompt
  double output = 1;               // tokens of an answer; 0 = not told: no other prompts come between
  bool one_length = false;         // all answers are as long: they end together
  bool prompts_elsewhere = false;  // disaggregated: other replicas compute the prompts
};

/// Tokens that are guessed ahead and verified in one step.
struct Drafts {
  std::int64_t tokens = 0;
  double accepted = 1;  // tokens that a step makes, on average
};

/// What is made best among the plans that keep the limits.
enum class ServeGoal {
  kLatency,       // the shortest time of a token; where more is not felt, the most of a GPU
  kTokensPerGpu,  // the most output tokens a second and GPU
  kGpus,          // the fewest GPUs that carry the told rate of requests
};
/// As --objective takes it.
const char* name(ServeGoal goal);

/// Whether prompts are computed by the replicas that decode, by others, or whichever is better.
enum class PromptPlace { kTogether, kApart, kEither };
const char* name(PromptPlace place);

struct ServeQuestion {
  /// Model and cluster; the sequence is the longest context, nothing else of the workload is looked at.
  Question question;
  ServingTime time;
  ServingMemory memory;
  EngineLimits limits;
  Sourced<Seconds<>> launch;  // of a collective, as the engine starts it
  ServeFormat format;
  double input = 1, output = 0;  // mean tokens of a prompt and of an answer
  Drafts drafts;
  bool graphs = true;  // steps are captured
  PromptPlace place = PromptPlace::kTogether;
  std::optional<std::int64_t> tensor, pipeline, data;
  std::optional<std::int64_t> batch;  // requests at once of one replica; searched where it is not told
  std::optional<Seconds<>> tpot_limit, ttft_limit;
  std::optional<double> percentile;  // share of requests that keep the limits; the mean where none is told
  std::optional<PerSecond<>> rate;   // of requests, all replicas together
  ServeGoal goal = ServeGoal::kLatency;

  /// Tokens of the longest request.
  std::int64_t context() const { return question.workload.sequence; }
  bool limited() const { return tpot_limit || ttft_limit; }
};

/// No engine: kernels at the device's own shares of its peaks, no floors, no host.
ServingTime ideal_engine(const Device& device);

/// What of a model the serving formulas do not know: "layers of kind ..."; nothing where they know all of it.
std::optional<std::string> unmodelled_decode(const Model& model);

}  // namespace shardplan
