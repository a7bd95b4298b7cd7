// One collective over a range of sizes: its time at each doubling, and where another way takes over.
//
//   CommSweep s = sweep_comm(question, {bytes(8), gibibytes(16)});
//   s.switches[1].from         // 2 MiB: from here on the switch reduces, on a node of eight H100
//
// Not here: one size and whether it hides (estimate/comm.h).
#pragma once

#include <cstdint>
#include <vector>

#include "estimate/comm.h"

namespace shardplan {

struct CommSweepPoint {
  Bytes<> size;
  CommAlgorithm algorithm = CommAlgorithm::kNone;
  std::optional<Protocol> protocol;
  Seconds<> time;
  BytesPerSecond<> algorithm_bandwidth;  // size / time
  BytesPerSecond<> bus_bandwidth;        // what one link carries, as nccl-tests counts it
};

struct CommSweep {
  CommQuestion question;
  std::vector<CommSweepPoint> points;
  std::vector<CommSwitch> switches;  // the first starts at the range's low end
};

CommSweep sweep_comm(const CommQuestion& question, const SizeRange& range);
/// What nccl-tests multiplies size / time with to get the load of a link.
Ratio<> bus_factor(Collective collective, std::int64_t ranks);

}  // namespace shardplan
