// The question: everything a plan is judged against. Validated once, at import; immutable afterwards.
#pragma once

#include "catalog/cluster.h"
#include "catalog/model.h"
#include "catalog/plan.h"
#include "catalog/workload.h"

namespace shardplan {

enum class ActivationModel { kPaper, kOps };

struct Question {
  Model model;
  Cluster cluster;
  Training workload;
  Framework framework;
  ActivationModel activations = ActivationModel::kOps;
  /// Everything that was not said and had to be chosen, one sentence each; printed with every answer.
  std::vector<std::string> assumed;
};

}  // namespace shardplan
