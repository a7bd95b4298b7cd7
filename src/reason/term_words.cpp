#include "reason/term_words.h"

namespace shardplan {

const char* words(TimeTerm term) {
  switch (term) {
    case TimeTerm::kGemm:
      return "matrix products";
    case TimeTerm::kAttention:
      return "attention cores";
    case TimeTerm::kMemoryBound:
      return "memory-bound kernels";
    case TimeTerm::kLogits:
      return "head and loss";
    case TimeTerm::kRecompute:
      return "recomputation";
    case TimeTerm::kLaunch:
      return "kernel launches";
    case TimeTerm::kTensor:
      return "tensor-parallel collectives";
    case TimeTerm::kContext:
      return "context-parallel ring";
    case TimeTerm::kExpert:
      return "expert all-to-all";
    case TimeTerm::kData:
      return "gradients and weights (data parallel)";
    case TimeTerm::kPipelineSends:
      return "pipeline sends";
    case TimeTerm::kBubble:
      return "pipeline bubble";
    case TimeTerm::kImbalance:
      return "waiting for the slowest stage";
    case TimeTerm::kOptimizer:
      return "optimizer";
    case TimeTerm::kStragglers:
      return "waiting for the slowest rank";
    case TimeTerm::kStep:
      return "fixed time of a step";
    case TimeTerm::kLoading:
      return "reading of the batch";
    case TimeTerm::kOffload:
      return "host memory: copies, optimizer step";
  }
  return "?";
}

const char* words(MemoryTerm term) {
  switch (term) {
    case MemoryTerm::kWeights:
      return "weights";
    case MemoryTerm::kGradients:
      return "gradients";
    case MemoryTerm::kOptimizer:
      return "optimizer state";
    case MemoryTerm::kActivations:
      return "activations";
    case MemoryTerm::kLogits:
      return "logits and loss";
    case MemoryTerm::kTransient:
      return "working buffers";
    case MemoryTerm::kBuffers:
      return "framework buffers";
  }
  return "?";
}

}  // namespace shardplan
