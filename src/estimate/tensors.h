// The tensors of a pipeline stage one by one: how large each is, and how many of it the account holds at its
// peak.
//
//   for (const Tensor& t : estimator.tensors(plan, 0)) ...   // {"logits in fp32", 786 MiB, 1, kLogits}
//
// The widths are those of the memory account: with activations op by op, what is held of a term adds up to
// the term (tensors_test.cpp), working buffers apart. Not here: which tensor a message means
// (reason/oom_answer.h).
#pragma once

#include <string>
#include <vector>

#include "estimate/estimate.h"

namespace shardplan {

struct Tensor {
  std::string name;
  Bytes<> bytes;
  double alive = 0;  // at the peak; 0 = comes and goes, or is a part of another
  MemoryTerm term = MemoryTerm::kActivations;
  Bytes<> held() const { return alive * bytes; }
};

/// Those that hold most at the peak, the largest first.
std::vector<Tensor> largest(std::vector<Tensor> tensors, std::size_t count);

}  // namespace shardplan
