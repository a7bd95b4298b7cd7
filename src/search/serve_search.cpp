#include "search/serve_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "search/serve_apart.h"
#include "search/serve_splits.h"

namespace shardplan {
namespace {

// How far a batch is looked for where neither memory nor the engine ends it.
constexpr std::int64_t kBatchMost = 65536;
// A rate that is carried to this share is carried: sums of shares of it are not exact.
constexpr double kWhole = 1 - 1e-9;

double d(std::int64_t v) { return static_cast<double>(v); }

bool keeps_limits(const ServeQuestion& q, Seconds<> ttft, Seconds<> tpot) {
  return (!q.tpot_limit || tpot <= *q.tpot_limit) && (!q.ttft_limit || ttft <= *q.ttft_limit);
}

Plan plan_of(const ServeQuestion& q, const ServeSplit& split, std::int64_t replicas) {
  Plan plan;
  plan.tp = static_cast<std::int32_t>(split.tensor);
  plan.pp = static_cast<std::int32_t>(split.pipeline);
  plan.dp = static_cast<std::int32_t>(replicas * split.data);
  const SplitRules rules(q);
  if (split.data > 1 || (split.tensor > 1 && rules.whole_experts(split)))
    plan.ep = static_cast<std::int32_t>(split.stage_gpus());
  return plan;
}

/// One split: its shape and its room, used for every batch.
class Split {
 public:
  Split(const ServeQuestion& q, const ServeSplit& split)
      : q_(q), split_(split), shape_(q.question.model, split, q.format) {}

  ServeCost<> cost(std::int64_t batch, bool apart = false) const {
    ++judged_;
    return serve_cost<double>(q_, shape_, {batch, apart});
  }
  /// The most requests that memory and the engine let run.
  std::int64_t most() const {
    const ServeCost<> one = cost(1);
    std::int64_t most = kBatchMost;
    if (value_of(one.room.requests) < d(most)) most = static_cast<std::int64_t>(value_of(one.room.requests));
    const double engine = q_.limits.requests.value.raw() * d(split_.data);
    if (engine > 0 && engine < d(most)) most = static_cast<std::int64_t>(engine);
    return std::max<std::int64_t>(1, most);
  }
  /// The largest batch of 1 to `most` that keeps the limits; 1 where none does.
  template <class Keeps>
  static std::int64_t largest(std::int64_t most, Keeps keeps) {
    std::int64_t low = 1, high = most;
    if (!keeps(low)) return low;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      const bool kept = keeps(middle);
      (kept ? low : high) = kept ? middle : middle - 1;
    }
    return low;
  }
  std::int64_t largest_that_keeps(bool apart = false) const {
    return largest(most(), [&](std::int64_t batch) {
      const ServeCost<> c = cost(batch, apart);
      return c.fits() &&
             (apart ? !q_.tpot_limit || c.tpot <= *q_.tpot_limit : keeps_limits(q_, c.ttft, c.tpot));
    });
  }
  std::int64_t judged() const { return judged_; }
  const ServeShape& shape() const { return shape_; }

 private:
  const ServeQuestion& q_;
  ServeSplit split_;
  ServeShape shape_;
  mutable std::int64_t judged_ = 0;
};

ServePlan plan_at(const ServeQuestion& q, const ServeSplit& split, std::int64_t replicas, std::int64_t batch,
                  const ServeCost<>& cost) {
  ServePlan p;
  p.plan = plan_of(q, split, replicas);
  p.split = split;
  p.replicas = replicas;
  p.batch = batch;
  p.cost = cost;
  p.fits = cost.fits();
  p.ttft = cost.ttft;
  p.requests = per_s(d(replicas) * cost.requests.raw());
  p.meets = keeps_limits(q, cost.ttft, cost.tpot) && (!q.rate || p.requests >= *q.rate);
  return p;
}

std::int64_t all_replicas(const ServeQuestion& q, const ServeSplit& split) {
  return q.question.cluster.gpus / split.gpus();
}

/// The batch at which a replica just carries its part of the rate.
std::int64_t carrying(const Split& split, std::int64_t most, PerSecond<> rate) {
  const std::int64_t below =
      Split::largest(most, [&](std::int64_t batch) { return split.cost(batch).requests < rate; });
  return std::min(most, split.cost(below).requests < rate ? below + 1 : below);
}

ServePlan at_rate(const ServeQuestion& q, const ServeSplit& s, const Split& split) {
  const std::int64_t most = q.batch.value_or(split.largest_that_keeps());
  const ServeCost<> full = split.cost(most);
  std::int64_t replicas = all_replicas(q, s);
  if (q.goal == ServeGoal::kGpus && full.requests > per_s(0)) {
    const double needed = std::ceil(q.rate->raw() / full.requests.raw() * kWhole);
    replicas =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(needed, d(replicas))), 1, replicas);
  }
  if (q.batch) return plan_at(q, s, replicas, most, full);
  const std::int64_t batch = carrying(split, most, per_s(q.rate->raw() / d(replicas)));
  return plan_at(q, s, replicas, batch, split.cost(batch));
}

ServePlan best_at(const ServeQuestion& q, const ServeSplit& s, const Split& split) {
  if (q.rate) return at_rate(q, s, split);
  std::int64_t batch = q.batch.value_or(1);
  if (!q.batch && q.goal != ServeGoal::kLatency) batch = split.largest_that_keeps();
  return plan_at(q, s, all_replicas(q, s), batch, split.cost(batch));
}

/// Of those that fit the ones that no other beats, by rising tokens of a user; one of those that are alike.
std::vector<ServePlan> front_of(std::vector<ServePlan> all) {
  std::sort(all.begin(), all.end(), [](const ServePlan& a, const ServePlan& b) {
    if (a.cost.tpot != b.cost.tpot) return a.cost.tpot < b.cost.tpot;
    return a.tokens_per_gpu() > b.tokens_per_gpu();
  });
  std::vector<ServePlan> front;
  for (const ServePlan& p : all) {
    if (front.empty() || p.tokens_per_gpu() > front.back().tokens_per_gpu()) front.push_back(p);
  }
  std::reverse(front.begin(), front.end());
  return front;
}

void add_front_points(const ServeQuestion& q, const ServeSplit& s, const Split& split,
                      std::vector<ServePlan>& all) {
  const auto add = [&](std::int64_t batch) {
    const ServeCost<> c = split.cost(batch);
    if (c.fits()) all.push_back(plan_at(q, s, all_replicas(q, s), batch, c));
  };
  if (q.batch) return add(*q.batch);
  const std::int64_t most = split.most();
  for (std::int64_t batch = 1; batch < most; batch = std::max(batch + 1, batch * 5 / 4)) add(batch);
  add(most);
}

}  // namespace

TokensPerSecond<> ServePlan::tokens() const {
  if (requests > per_s(0) && prefill) {
    return TokensPerSecond<>(requests.raw() * (cost.throughput.raw() / cost.requests.raw()));
  }
  return cost.throughput * d(replicas);
}

ServePlan serve_plan(const ServeQuestion& q, const ServeSplit& split, std::int64_t batch,
                     bool prompts_elsewhere) {
  const Split one(q, split);
  return plan_at(q, split, all_replicas(q, split), batch, one.cost(batch, prompts_elsewhere));
}

ServePlan best_of_split(const ServeQuestion& q, const ServeSplit& split) {
  return best_at(q, split, Split(q, split));
}

ServePlan decoding_only(const ServeQuestion& q, const ServeSplit& s) {
  const Split split(q, s);
  std::int64_t batch = q.batch.value_or(1);
  if (!q.batch && (q.rate || q.goal != ServeGoal::kLatency)) batch = split.largest_that_keeps(true);
  return plan_at(q, s, all_replicas(q, s), batch, split.cost(batch, true));
}

ServePlan judged_again(const ServeQuestion& q, const ServePlan& plan) {
  const ServeShape shape(q.question.model, plan.split, q.format);
  const ServeRun run{plan.batch, plan.prefill.has_value()};
  ServePlan p = plan_at(q, plan.split, plan.replicas, plan.batch, serve_cost<double>(q, shape, run));
  if (plan.prefill) join(q, prefill_pool(q, plan.prefill->split, plan.prefill->replicas), p);
  return p;
}

bool better(const ServeQuestion& q, const ServePlan& a, const ServePlan& b) {
  if (a.good() != b.good()) return a.good();
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return a.cost.held() / a.cost.room.memory < b.cost.held() / b.cost.room.memory;
  if (!a.good()) return a.cost.tpot < b.cost.tpot;
  if (q.goal == ServeGoal::kGpus && a.gpus() != b.gpus()) return a.gpus() < b.gpus();
  if (q.goal == ServeGoal::kTokensPerGpu && a.tokens_per_gpu() != b.tokens_per_gpu())
    return a.tokens_per_gpu() > b.tokens_per_gpu();
  if (a.cost.tpot != b.cost.tpot) return a.cost.tpot < b.cost.tpot;
  return a.gpus() < b.gpus();
}

namespace {

/// Of the plans whose tokens are not felt to be later than the fastest, the one that makes most of a GPU.
std::size_t cheapest_of_fastest(const ServeQuestion& q, const ServeSearch& found) {
  const Seconds<> felt = found.best().cost.tpot * (1 + q.question.risk->felt.value.raw());
  std::size_t best = found.chosen;
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    const ServePlan& p = found.plans[i];
    if (p.good() && p.cost.tpot <= felt && p.tokens_per_gpu() > found.plans[best].tokens_per_gpu()) best = i;
  }
  return best;
}

/// The best of each split; of each split its points of the front where they are wanted.
ServeSearch search_splits(const ServeQuestion& q, std::vector<ServePlan>* points) {
  ServeSearch found;
  for (const ServeSplit& s : SplitRules(q).all()) {
    const Split split(q, s);
    if (q.place != PromptPlace::kApart) found.plans.push_back(best_at(q, s, split));
    if (points != nullptr) add_front_points(q, s, split, *points);
    found.judged += split.judged();
  }
  if (q.place != PromptPlace::kTogether) add_apart(q, found.plans);
  // Where no pair fits, what is nearest to it is shown.
  if (found.plans.empty()) {
    for (const ServeSplit& s : SplitRules(q).all()) found.plans.push_back(decoding_only(q, s));
    for (ServePlan& p : found.plans) p.meets = false;
  }
  for (std::size_t i = 1; i < found.plans.size(); ++i) {
    if (better(q, found.plans[i], found.best())) found.chosen = i;
  }
  if (q.goal == ServeGoal::kLatency && found.best().good()) found.chosen = cheapest_of_fastest(q, found);
  return found;
}

}  // namespace

ServeSearch search_serving(const ServeQuestion& q) {
  std::vector<ServePlan> points;
  ServeSearch found = search_splits(q, &points);
  found.front = front_of(std::move(points));
  return found;
}

ServePlan search_best(const ServeQuestion& q) { return search_splits(q, nullptr).best(); }

}  // namespace shardplan
