#include "search/serve_apart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "search/serve_splits.h"

namespace shardplan {
namespace {

// A pool that is busier waits for more than ten prompts on average, whatever the limit.
constexpr double kMostBusy = 0.95;

double d(std::int64_t v) { return static_cast<double>(v); }

/// Prompts that one replica computes in a second were it never idle: groups of attention have prompts of
/// their own, and so has every pipeline stage.
double prompts_per_s(const PrefillPool& pool) {
  return d(pool.split.data * pool.split.pipeline) / pool.cost.time.prompt().raw();
}

Seconds<> first_token(const ServeQuestion& q, const PrefillPool& pool, Ratio<> busy) {
  return prefill_ttft<double>(q, pool.cost, busy);
}

/// How busy a pool may be; nothing where even an idle one is too late.
std::optional<double> most_busy(const ServeQuestion& q, const PrefillPool& pool) {
  const auto keeps = [&](double busy) {
    return !q.ttft_limit || first_token(q, pool, ratio(busy)) <= *q.ttft_limit;
  };
  if (!keeps(0)) return std::nullopt;
  if (keeps(kMostBusy)) return kMostBusy;
  double low = 0, high = kMostBusy;
  constexpr int kHalvings = 30;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (keeps(middle) ? low : high) = middle;
  }
  return low;
}

/// What one replica of a kind carries, in requests a second.
struct Part {
  ServeSplit split;
  double rate = 0;
};
/// By the GPUs of a replica, the one that carries most.
using Parts = std::map<std::int64_t, Part>;

void keep_best(const ServeSplit& split, double rate, Parts& parts) {
  Part& part = parts[split.gpus()];
  if (rate > part.rate) part = {split, rate};
}

Parts prefill_parts(const ServeQuestion& q) {
  ServeQuestion any = q;
  any.tensor = any.pipeline = any.data = std::nullopt;
  Parts parts;
  for (const ServeSplit& split : SplitRules(any).all()) {
    const PrefillPool pool = prefill_pool(q, split, 1);
    const auto busy = pool.cost.fits() ? most_busy(q, pool) : std::nullopt;
    if (busy && *busy > 0) keep_best(split, *busy * prompts_per_s(pool), parts);
  }
  return parts;
}

struct Decoders {
  Parts parts;
  std::map<std::int64_t, ServePlan> plans;
};

Decoders decode_parts(const ServeQuestion& q) {
  Decoders found;
  for (const ServeSplit& split : SplitRules(q).all()) {
    const ServePlan plan = decoding_only(q, split);
    if (!plan.fits || (q.tpot_limit && plan.cost.tpot > *q.tpot_limit)) continue;
    const double rate = plan.cost.requests.raw();
    const auto before = found.parts.find(split.gpus());
    if (before != found.parts.end() && before->second.rate >= rate) continue;
    found.parts[split.gpus()] = {split, rate};
    found.plans[split.gpus()] = plan;
  }
  return found;
}

struct Numbers {
  std::int64_t prefill = 0, decode = 0;
  double rate = 0;
};

/// As many of both as the cluster holds, or as the told rate needs.
std::optional<Numbers> numbers_of(const ServeQuestion& q, const Part& prefill, const Part& decode) {
  const std::int64_t gpus = q.question.cluster.gpus;
  std::optional<Numbers> best;
  const auto worth = [&](const Numbers& n) {
    return n.rate / d(n.prefill * prefill.split.gpus() + n.decode * decode.split.gpus());
  };
  for (std::int64_t x = 1; x * prefill.split.gpus() + decode.split.gpus() <= gpus; ++x) {
    const std::int64_t left = gpus - x * prefill.split.gpus();
    Numbers n{x, left / decode.split.gpus(), 0};
    // No more to decode than the prompts need.
    n.decode = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::ceil(d(x) * prefill.rate / decode.rate)), 1, n.decode);
    if (q.rate) {
      n.decode = std::min(
          n.decode,
          std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(q.rate->raw() / decode.rate))));
    }
    n.rate = std::min(d(x) * prefill.rate, d(n.decode) * decode.rate);
    const bool carries = !q.rate || n.rate >= q.rate->raw();
    if (!carries && left / decode.split.gpus() > n.decode) continue;
    if (!best || worth(n) > worth(*best)) best = n;
    if (q.rate && carries) {
      best = n;
      break;
    }
  }
  return best;
}

}  // namespace

PrefillPool prefill_pool(const ServeQuestion& q, const ServeSplit& split, std::int64_t replicas) {
  const ServeShape shape(q.question.model, split, q.format);
  return {split, replicas, prefill_cost<double>(q, shape), ratio(0)};
}

void join(const ServeQuestion& q, PrefillPool pool, ServePlan& plan) {
  const double prompts = d(pool.replicas) * prompts_per_s(pool);
  const double decoded = d(plan.replicas) * plan.cost.requests.raw();
  double rate = std::min(decoded, kMostBusy * prompts);
  if (const auto busy = most_busy(q, pool)) rate = std::min(rate, *busy * prompts);
  if (q.rate) rate = std::min(rate, q.rate->raw());
  pool.busy = ratio(rate / prompts);
  plan.requests = per_s(rate);
  plan.ttft = first_token(q, pool, pool.busy);
  plan.fits = plan.fits && pool.cost.fits();
  // What decodes as much is not asked whether it carries the rate alone.
  constexpr double kWhole = 1 - 1e-9;
  plan.meets = (!q.tpot_limit || plan.cost.tpot <= *q.tpot_limit) &&
               (!q.ttft_limit || plan.ttft <= *q.ttft_limit) && (!q.rate || rate >= kWhole * q.rate->raw());
  plan.prefill = pool;
}

void add_apart(const ServeQuestion& q, std::vector<ServePlan>& plans) {
  const Parts prefill = prefill_parts(q);
  const Decoders decoders = decode_parts(q);
  std::optional<ServePlan> best;
  for (const auto& [prefill_gpus, p] : prefill) {
    for (const auto& [decode_gpus, part] : decoders.parts) {
      const auto numbers = numbers_of(q, p, part);
      if (!numbers) continue;
      ServePlan plan = decoders.plans.at(decode_gpus);
      plan.replicas = numbers->decode;
      plan.plan.dp = static_cast<std::int32_t>(numbers->decode * plan.split.data);
      join(q, prefill_pool(q, p.split, numbers->prefill), plan);
      if (!best || better(q, plan, *best)) best = plan;
    }
  }
  if (best) plans.push_back(*best);
}

}  // namespace shardplan
