#include "schedule/timeline.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "graph/stages.h"

namespace shardplan {
namespace {

constexpr double kNotYet = -1;

/// What an operation hands on: an activation (forward) or a gradient, of one micro-batch, by one chunk.
struct Handover {
  bool gradient = false;
  std::int64_t chunk = 0;
  std::int32_t micro_batch = 0;
};

class Simulation {
 public:
  Simulation(const Plan& plan, const PipelineTimes& times)
      : plan_(plan), times_(times), chunks_(all_chunks(plan)) {
    assert(static_cast<std::int64_t>(times.chunks.size()) == chunks_);
    const auto ranks = static_cast<std::size_t>(plan.pp);
    handed_.assign(static_cast<std::size_t>(2 * chunks_ * plan.grad_accumulation), kNotYet);
    free_.assign(ranks, 0.0);
    next_.assign(ranks, 0);
    line_.ranks.resize(ranks);
    for (int r = 0; r < plan.pp; ++r) {
      lists_.push_back(operations_of(plan, r));
      line_.ranks[static_cast<std::size_t>(r)].events.reserve(lists_.back().size());
    }
  }

  Timeline run() {
    // Ranks that may be able to go on: at first all, then whoever was handed something.
    std::vector<int> awake;
    for (int r = plan_.pp - 1; r >= 0; --r) awake.push_back(r);
    while (!awake.empty()) {
      const int rank = awake.back();
      awake.pop_back();
      while (step(rank, awake)) {
      }
    }
    for (std::size_t r = 0; r < lists_.size(); ++r) {
      assert(next_[r] == lists_[r].size());  // no list waits for itself
      RankLine& rank = line_.ranks[r];
      count_live(rank);
      line_.span = std::max(line_.span, rank.span());
      line_.makespan = std::max(line_.makespan, rank.end());
    }
    return std::move(line_);
  }

 private:
  /// Under DualPipe a chunk is on two ranks; a micro-batch stays in its direction.
  int rank_of(std::int64_t chunk, const Operation& from) const {
    const std::int64_t p = plan_.pp;
    if (plan_.schedule == Schedule::kDualPipe)
      return static_cast<int>(from.piece == 0 ? chunk : p - 1 - chunk);
    if (plan_.schedule == Schedule::kZbV) return static_cast<int>(chunk < p ? chunk : 2 * p - 1 - chunk);
    return static_cast<int>(chunk % p);
  }

  double& handed(const Handover& h) {
    return handed_[static_cast<std::size_t>(((h.gradient ? chunks_ : 0) + h.chunk) * plan_.grad_accumulation +
                                            h.micro_batch)];
  }

  /// What it waits for; nothing where the micro-batch enters the model.
  std::optional<Handover> input(const Operation& o, std::int64_t chunk) const {
    if (o.pass == Pass::kWeightGradient) return Handover{true, chunk, o.micro_batch};
    if (o.pass != Pass::kForward) {
      // The loss hands the last chunk its own forward pass back.
      return chunk == chunks_ - 1 ? Handover{false, chunk, o.micro_batch}
                                  : Handover{true, chunk + 1, o.micro_batch};
    }
    if (chunk == 0) return std::nullopt;
    return Handover{false, chunk - 1, o.micro_batch};
  }

  std::optional<double> ready(const Operation& o, std::int64_t chunk, int rank) {
    const auto from = input(o, chunk);
    if (!from) return 0.0;
    const double at = handed(*from);
    if (at == kNotYet) return std::nullopt;
    return rank_of(from->chunk, o) == rank ? at : at + times_.send.raw();
  }

  double duration(Pass pass, std::int64_t chunk) const {
    const PassTimes& t = times_.chunks[static_cast<std::size_t>(chunk)];
    switch (pass) {
      case Pass::kForward:
        return t.forward.raw();
      case Pass::kBackward:
        return t.backward().raw();
      case Pass::kInputGradient:
        return t.input_gradient.raw();
      case Pass::kWeightGradient:
        return t.weight_gradient.raw();
    }
    return 0;
  }

  /// The rank that gets what it makes, where that is another one.
  std::optional<int> receiver(const Operation& o, std::int64_t chunk, int rank) const {
    if (o.pass == Pass::kWeightGradient) return std::nullopt;
    const std::int64_t to = o.pass == Pass::kForward ? chunk + 1 : chunk - 1;
    if (to < 0 || to == chunks_) return std::nullopt;
    const int receiving = rank_of(to, o);
    if (receiving == rank) return std::nullopt;
    return receiving;
  }

  /// Runs the rank's next operation, with the one it is joined with, if their inputs are there.
  bool step(int rank, std::vector<int>& awake) {
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<Operation>& list = lists_[r];
    if (next_[r] == list.size()) return false;
    const std::size_t first = next_[r], last = first + (list[first].joined ? 2 : 1);
    double at = free_[r];
    for (std::size_t i = first; i < last; ++i) {
      const auto when = ready(list[i], rank_chunk(plan_, rank, list[i].piece), rank);
      if (!when) return false;
      at = std::max(at, *when);
    }
    RankLine& line = line_.ranks[r];
    for (std::size_t i = first; i < last; ++i) {
      const std::int64_t chunk = rank_chunk(plan_, rank, list[i].piece);
      const double end = at + duration(list[i].pass, chunk);
      const auto to = receiver(list[i], chunk, rank);
      line.events.push_back({list[i], chunk, seconds(at), seconds(end), to.has_value()});
      line.busy += seconds(end - at);
      if (to) awake.push_back(*to);
      at = end;
    }
    free_[r] = at;
    for (std::size_t i = first; i < last; ++i) {
      const Event& event = line.events[i];
      if (list[i].pass != Pass::kWeightGradient) {
        handed({list[i].pass != Pass::kForward, event.chunk, list[i].micro_batch}) = at;
      }
      if (event.sends && times_.send_blocks) free_[r] += times_.send.raw();
    }
    next_[r] = last;
    return true;
  }

  static void count_live(RankLine& rank) {
    int live = 0;
    for (const Event& event : rank.events) {
      const Pass pass = event.operation.pass;
      if (pass == Pass::kForward) rank.live = std::max(rank.live, ++live);
      if (pass == Pass::kBackward || pass == Pass::kWeightGradient) --live;
    }
  }

  const Plan& plan_;
  const PipelineTimes& times_;
  const std::int64_t chunks_;
  std::vector<std::vector<Operation>> lists_;
  std::vector<double> handed_;  // when each handover was made
  std::vector<double> free_;    // when each rank is
  std::vector<std::size_t> next_;
  Timeline line_;
};

}  // namespace

Timeline simulate(const Plan& plan, const PipelineTimes& times) { return Simulation(plan, times).run(); }

}  // namespace shardplan
