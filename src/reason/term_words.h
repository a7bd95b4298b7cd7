// The terms of a breakdown in words, for tables and sentences.
//
//   words(TimeTerm::kTensor)     // "tensor-parallel collectives"
//   words(MemoryTerm::kLogits)   // "logits and loss"
//
// Not here: their names in JSON (name() in estimate/estimate.h).
#pragma once

#include "estimate/estimate.h"

namespace shardplan {

const char* words(TimeTerm term);
const char* words(MemoryTerm term);

}  // namespace shardplan
