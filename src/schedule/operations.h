// What each rank of a pipeline runs, in order: the list that a framework's schedule emits.
//
//   operations_of(plan, 0)   // 1F1B, pp 2, 2 micro-batches: F0 F1 B0 B1;  rank 1: F0 B0 F1 B1
//
// Orders are those of the systems that run them, not of their drawings:
//   gpipe        torch.distributed.pipelining ScheduleGPipe: all forwards, then all backwards
//   1f1b         Megatron-LM schedules.py, forward_backward_pipelining_without_interleaving
//   interleaved  Megatron-LM schedules.py, get_pp_rank_microbatches and get_schedule_table, groups of pp
//   zb-h1        arXiv:2401.10241 section 2.3 by hand: 1F1B whose rank r keeps r weight gradients back
//   zb-v         arXiv:2401.10241 section 6 by hand, as torch's ScheduleZBVZeroBubble emits it
//   dualpipe     deepseek-ai/DualPipe dualpipe.py, DualPipe.step
// The plan is legal (graph/space.h); nothing is checked again. Not here: when an operation runs (timeline.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "catalog/plan.h"

namespace shardplan {

enum class Pass : std::int8_t {
  kForward,
  kBackward,        // gradients of input and weights in one go
  kInputGradient,   // the half that the stage before waits for
  kWeightGradient,  // the half that nothing waits for
};
const char* name(Pass pass);

struct Operation {
  Pass pass = Pass::kForward;
  std::int8_t piece = 0;  // which of the rank's chunks, as rank_chunk (graph/stages.h) counts them
  /// Overlapped with the next one: both wait for the inputs of both and hand over when both are done.
  bool joined = false;
  std::int32_t micro_batch = 0;
  bool operator==(const Operation&) const = default;
};

std::vector<Operation> operations_of(const Plan& plan, int rank);

/// "F3", "B0", "I2b", "W2b": pass, micro-batch, and the chunk as a letter where there are several.
std::string spelled(const Operation& operation, int pieces);

}  // namespace shardplan
