// What PyTorch says when a device has no memory left, as numbers.
//
//   OutOfMemory oom; oom.requested = mebibytes(786); oom.free = mebibytes(450);   *oom.shortage()   // 336
//   MiB
//
// Not here: the texts it is read from (import/oom_text.h), which tensor has that size (reason/oom_answer.h).
#pragma once

#include <optional>

#include "units/quantity.h"

namespace shardplan {

struct OutOfMemory {
  Bytes<> requested;  // the block that the allocator asked the device for
  std::optional<Bytes<>> capacity, free;
  std::optional<Bytes<>> in_use;       // by this process, what is not PyTorch's included
  std::optional<Bytes<>> allocated;    // by tensors
  std::optional<Bytes<>> unallocated;  // reserved by PyTorch, held by no tensor

  /// What was missing; nothing where the message does not say what was free, or more was than was asked for.
  std::optional<Bytes<>> shortage() const {
    return free && requested > *free ? std::optional(requested - *free) : std::nullopt;
  }
  /// More was free than was asked for, so that something else than the device refused.
  bool limited() const { return free && !(requested > *free); }
  /// PyTorch holds as much as was asked for, but not in one piece.
  bool fragmentation() const { return !limited() && unallocated && *unallocated >= requested; }
  /// What is free and what PyTorch holds for no tensor would be enough, were they one piece.
  bool enough_in_pieces() const {
    return !limited() && unallocated && *unallocated >= shortage().value_or(requested);
  }
  /// Of the device, neither free nor PyTorch's: contexts, communicators, other processes. Nothing where it is
  /// not told, or where the driver lends more than there is.
  std::optional<Bytes<>> outside() const {
    if (!capacity || !free || !allocated || !unallocated) return std::nullopt;
    const Bytes<> rest = *capacity - *free - *allocated - *unallocated;
    return rest >= Bytes<>(0.0) ? std::optional(rest) : std::nullopt;
  }
};

}  // namespace shardplan
