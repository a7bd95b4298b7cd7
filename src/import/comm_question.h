// The flags of `shardplan comm` as typed, and the one place where they are checked and completed.
//
//   CommSpec spec;   spec.gpus = "64";  spec.bw = "50";  spec.latency = "15";  spec.params = "7";
//   Result<CommQuestion> q = build_comm_question(spec, catalog());
//
// Every flag is a text: an adapter copies, it neither parses nor knows a default. Not here: costs
// (estimate/comm.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "catalog/communication.h"
#include "catalog/result.h"
#include "import/catalog.h"
#include "import/question.h"

namespace shardplan {

/// Of the shared flags it reads --gpus, --params, --cluster, --gpu and those of the two links.
struct CommSpec : QuestionSpec {
  Flag collective, bw, latency, bytes, step_ms, fabric, launcher, sweep, ranks_per_node, groups;
};

/// A flag as adapters need it: its spelling, where its text goes, one line of help with the unit of a bare
/// number.
struct CommFlag {
  const char* flag;
  QuestionSpec::Flag CommSpec::*text;
  const char* help;
};
std::span<const CommFlag> comm_flags();

/// "all-reduce", in any spelling of its parts.
Result<Collective> read_collective(const std::string& text, const char* flag);
Result<CommQuestion> build_comm_question(const CommSpec& spec, const Catalog& catalog);

}  // namespace shardplan
