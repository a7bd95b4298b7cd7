// What `plan` is asked: a question on one size of the cluster or on each of several, and what is best.
//
//   asked.sizes;                     // 8, 16, ... 1,024 GPUs; nothing: one size
//   Question q = asked.of_size(64);  // the same on 64, with the batch that all sizes share
//
// Not here: how it is read (import/plan_question.h), which size is best (search/sizes.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catalog/objective.h"
#include "catalog/question.h"

namespace shardplan {

/// The same question on so many GPUs.
using QuestionOfSize = std::function<Question(std::int64_t gpus)>;

/// One of several precisions that are asked for.
struct AskedPrecision {
  std::string name;        // "fp8"
  std::string impossible;  // why there is no question in it; empty where there is
  QuestionOfSize of_size = {};
};

/// What was told of an axis of the plan, and where.
struct ToldAxis {
  std::string axis;  // "tp"
  std::string flag;  // "--tp", "--fix tp", "--min tp"
};

struct PlanQuestion {
  Question question;              // on the one size, or on the largest that the told axes divide
  std::optional<GpuRange> sizes;  // nothing: one size
  Objective objective;
  QuestionOfSize of_size;  // for a size of the range on which some plan is legal
  /// Where several are asked for; `question` and `of_size` are of the first that is possible.
  std::vector<AskedPrecision> precisions = {};
  std::vector<ToldAxis> told = {};  // for errors
};

}  // namespace shardplan
