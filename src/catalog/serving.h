// A question about serving: a model on a cluster, how many sequences are decoded together, how long each is,
// and how long an output token may take.
//
//   ServeQuestion q;   q.batch = 8;  q.context() == 2048;  q.tpot_limit = milliseconds(25);
//
// Put together and checked by import/serve_question.h, answered by reason/serve_answer.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "catalog/question.h"

namespace shardplan {

struct ServeQuestion {
  /// Model, cluster and the axes that were told; the sequence is the context, nothing else of the workload is
  /// looked at.
  Question question;
  std::int64_t batch = 1;  // sequences that one replica decodes together
  std::optional<Seconds<>> tpot_limit;

  std::int64_t context() const { return question.workload.sequence; }
};

/// What of a model the serving formulas do not know yet: "a mixture of experts"; nothing for a dense decoder
/// that attends to its whole context.
std::optional<std::string> unmodelled_decode(const Model& model, std::int64_t context);

}  // namespace shardplan
