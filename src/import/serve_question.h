// The flags of `shardplan serve` as typed, and the one place where they are checked and completed.
//
//   ServeSpec spec;  spec.preset = "llama3-8b";  spec.tp = "2";  spec.input = "1024";  spec.output = "256";
//   Result<ServeQuestion> q = build_serve_question(spec, catalog());
//
// Every flag is a text: an adapter copies, it neither parses nor knows a default. Not here: costs
// (estimate/serve.h), which degrees are legal (search/serve_splits.h).
#pragma once

#include <span>

#include "catalog/result.h"
#include "catalog/serving.h"
#include "import/catalog.h"
#include "import/question.h"

namespace shardplan {

/// Of the shared flags it reads those of the model and of the cluster, --seq, --tp, --pp and --precision.
struct ServeSpec : QuestionSpec {
  ServeSpec() { purpose = Purpose::kServe; }
  Flag batch, input, output, engine, kv_precision, tpot_ms, ttft_ms, percentile, rate, objective, mode;
  Flag dp_attention, memory_share, max_requests, max_prompt_tokens, draft_tokens, accepted,
      graphs;
};

struct ServeFlag {
  const char* flag;
  QuestionSpec::Flag ServeSpec::*text;
  const char* help;
};
std::span<const ServeFlag> serve_flags();

/// The whole question, or the first thing that is wrong with it: also a model that is not modelled yet.
Result<ServeQuestion> build_serve_question(const ServeSpec& spec, const Catalog& catalog);

/// No engine: links, kernels and memory as the cluster has them.
inline constexpr const char* kGenericEngine = "generic";

}  // namespace shardplan
