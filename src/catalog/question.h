// The question: everything a plan is judged against. Validated once, at import; immutable afterwards.
#pragma once

#include <string>
#include <vector>

#include "catalog/cluster.h"
#include "catalog/model.h"
#include "catalog/plan.h"
#include "catalog/risk.h"
#include "catalog/workload.h"

namespace shardplan {

enum class ActivationModel { kPaper, kOps };

struct Question {
  Model model;
  Cluster cluster;
  Training workload;
  Framework framework;
  ActivationModel activations = ActivationModel::kOps;
  FixedAxes fixed;                    // what was told of the plan
  const RiskFigures* risk = nullptr;  // of the catalog
  /// Search all that the framework's engine can do, not the usual plans alone.
  bool whole_space = false;
  /// Values taken because none was told: "sequence 4096". Those of the cluster and the model are among them.
  std::vector<std::string> assumed;
  /// Remarks on what was told: "cards sold as 80 GB report 79.2 GiB".
  std::vector<std::string> notes;
};

}  // namespace shardplan
