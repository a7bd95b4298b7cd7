// An out-of-memory message explained: which tensor was asked for, whether the bytes were there in pieces,
// what would make room.
//
//   OomAnswer a = oom_answer(message);                     // what the message says by itself
//   OomAnswer a = oom_answer(message, estimator, plan);    // and held against the account of a plan
//   a.run->matches[0].tensor.name                          // "logits in fp32"
//
// Not here: how the message is read (import/oom_text.h).
#pragma once

#include <optional>
#include <vector>

#include "catalog/out_of_memory.h"
#include "reason/remedies.h"

namespace shardplan {

/// A tensor of the account beside the requested size; equal ones of several stages are one.
struct TensorMatch {
  Tensor tensor;
  std::vector<int> stages;
};

/// The job that ran out, of a configuration.
struct OomRun {
  Plan plan;
  MemoryAccount memory;
  std::vector<TensorMatch> matches;  // of the requested size, those that hold most first
  std::vector<TensorMatch> nearest;  // where none is
  /// By how much the account is larger than what the device has for it: the job would stop again.
  Bytes<> beyond{};
  /// What frees the shortage and what is beyond; empty where fragmentation alone is the reason.
  std::vector<Remedy> remedies;
};

struct OomAnswer {
  OutOfMemory message;
  std::optional<OomRun> run;  // with a configuration
  bool solved() const {
    return !run || (message.enough_in_pieces() && run->beyond <= bytes(0)) || keeps_training(run->remedies);
  }
};

/// What the caching allocator asks the device for when it has no block for a tensor: what the message prints.
Bytes<> device_block(Bytes<> tensor);
/// Where a block is one that several smaller tensors share: how large the largest of them may be.
std::optional<Bytes<>> shared_by_tensors_up_to(Bytes<> block);
/// Whether a message that prints `requested` may be about such a tensor.
bool has_printed_size(Bytes<> tensor, Bytes<> requested);

OomAnswer oom_answer(const OutOfMemory& message);
OomAnswer oom_answer(const OutOfMemory& message, const Estimator& estimator, const Plan& plan,
                     std::span<const BlockFormat> bases = {});

}  // namespace shardplan
