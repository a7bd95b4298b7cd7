// A plan: the degrees of every axis of parallelism and what each rank does with its memory.
//
// Small, trivially copyable, totally ordered, with a canonical text. Which plans are legal for a model and a
// cluster is decided in one place, graph/legality.h.
//
//   Plan p; p.tp = 8; p.pp = 4; p.dp = 2;   canonical(p)   // "dp2·tp8·pp4·z1·mb1·selective"
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardplan {

enum class Recompute : std::int8_t { kNone, kSelective, kFull };
enum class Schedule : std::int8_t { kGpipe, k1F1B, kInterleaved, kZbH1, kZbV, kDualPipe };
const char* name(Recompute recompute);
const char* name(Schedule schedule);
std::optional<Recompute> recompute_named(std::string_view text);
std::optional<Schedule> schedule_named(std::string_view text);

struct Plan {
  std::int32_t dp = 1;   // data-parallel replicas (context parallelism not included)
  std::int32_t tp = 1;   // tensor
  std::int32_t pp = 1;   // pipeline stages
  std::int32_t cp = 1;   // context
  std::int32_t ep = 1;   // expert; divides dp * cp * tp / etp
  std::int32_t etp = 1;  // tensor parallelism inside an expert
  std::int8_t zero_stage = 0;
  std::int32_t micro_batch = 1;        // sequences
  std::int32_t grad_accumulation = 1;  // micro-batches a replica runs in a step
  std::int32_t interleave = 1;         // model chunks a pipeline rank holds
  Schedule schedule = Schedule::k1F1B;
  Recompute recompute = Recompute::kNone;
  bool sequence_parallel = false;

  auto operator<=>(const Plan&) const = default;
  std::int64_t gpus() const { return std::int64_t{dp} * tp * pp * cp; }
};

/// What a person told of a plan. Search fills in the rest; memory takes its documented defaults for it.
struct FixedAxes {
  std::optional<std::int32_t> dp, tp, pp, cp, ep, etp, micro_batch, interleave;
  std::optional<std::int8_t> zero_stage;
  std::optional<Schedule> schedule;
  std::optional<Recompute> recompute;
  std::optional<bool> sequence_parallel;
  bool operator==(const FixedAxes&) const = default;
};

/// "dp2·tp8·pp4·z1·mb1·ga8·selective"; axes of degree 1 are left out, dp is always there.
std::string canonical(const Plan& plan);

}  // namespace shardplan
