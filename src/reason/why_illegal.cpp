// Why no legal plan agrees with what is told: the rules without which one would.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reason/answer.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// A plan and the rules that it breaks.
struct Broken {
  std::vector<Constraint> rules;
  Plan plan;
};

/// The plans that come nearest to being legal, over all ways to choose what is not told. Of what is chosen
/// freely the value is taken that is legal if any is: the smallest micro-batch, the usual order of ranks.
class Candidates {
 public:
  Candidates(const Question& question, const FixedAxes& fixed)
      : q_(question), fixed_(fixed), space_(question), degrees_(divisors(question.cluster.gpus)) {
    for (const Layer& layer : q_.model.layers) {
      if (const auto* experts = std::get_if<MoeMlp>(&layer.mlp))
        experts_ = std::gcd(experts_, experts->experts);
    }
  }

  /// By the rules that are broken, of the fewest that have to be: a plan that breaks them and no other. The
  /// one with the plainest axes comes first. Empty where what is told in other ways than degrees leaves none.
  std::vector<Broken> nearest() {
    for (const std::int32_t tp : ways(Degree::kTp, degrees_)) {
      for (const std::int32_t pp : ways(Degree::kPp, degrees_)) {
        for (const std::int32_t cp : ways(Degree::kCp, degrees_)) judge_layout(tp, pp, cp);
      }
    }
    // The number of GPUs is what the question is about: where another rule is as near, it is that one.
    const auto of_gpus = [](const Broken& one) { return one.rules.front() == Constraint::kGpuCount; };
    if (!std::all_of(found_.begin(), found_.end(), of_gpus)) std::erase_if(found_, of_gpus);
    return std::move(found_);
  }

 private:
  /// What a degree may be: as told, or any of `all` within its bounds, or the least of them.
  std::vector<std::int32_t> ways(Degree degree, const std::vector<std::int64_t>& all) const {
    if (const auto told = fixed_.told(degree)) return {*told};
    const DegreeBounds& bounds = fixed_.bounds_of(degree);
    std::vector<std::int32_t> found;
    for (const std::int64_t value : all) {
      if (bounds.hold(static_cast<std::int32_t>(value))) found.push_back(static_cast<std::int32_t>(value));
    }
    if (found.empty()) found.push_back(std::max(bounds.least, lowest(degree)));
    return found;
  }
  std::vector<std::int64_t> interleaves(const Plan& p) const {
    const bool several = fixed_.schedule == Schedule::kInterleaved;
    std::vector<std::int64_t> all;
    const auto layers = static_cast<std::int64_t>(q_.model.layers.size());
    for (std::int64_t chunks = several ? 2 : 1; chunks <= std::max<std::int64_t>(2, layers / p.pp); ++chunks)
      all.push_back(chunks);
    // More chunks than one are for those who ask for them.
    if (!several && fixed_.bounds_of(Degree::kInterleave).hold(1)) all.resize(1);
    return all;
  }
  std::int32_t micro_batch(const Plan& p) const {
    const std::int64_t own = q_.workload.global_batch / p.dp;
    return ways(Degree::kMicroBatch, own > 0 ? divisors(own) : std::vector<std::int64_t>{1}).front();
  }

  void judge_layout(std::int32_t tp, std::int32_t pp, std::int32_t cp) {
    Plan p;
    p.tp = tp;
    p.pp = pp;
    p.cp = cp;
    const std::int64_t rest = std::int64_t{tp} * pp * cp, gpus = q_.cluster.gpus;
    p.dp = ways(Degree::kDp, {std::max<std::int64_t>(1, gpus / rest)}).front();
    p.rank_order = fixed_.rank_order.value_or(RankOrder{});
    p.sequence_parallel = fixed_.sequence_parallel.value_or(tp > 1);
    p.shard_group = fixed_.shard_group.value_or(0);
    p.offload = fixed_.offload.value_or(0);
    p.first_layers = told_end(fixed_.first_layers);
    p.last_layers = told_end(fixed_.last_layers);
    p.micro_batch = micro_batch(p);
    const std::int64_t ranks = std::int64_t{p.dp} * cp * tp;
    const std::vector<std::int64_t> split =
        experts_ > 0 ? std::vector<std::int64_t>{1, tp} : std::vector<std::int64_t>{1};
    for (const std::int32_t ep :
         ways(Degree::kEp, divisors(std::gcd(std::max(experts_, std::int64_t{1}), ranks)))) {
      p.ep = ep;
      for (const std::int32_t etp : ways(Degree::kEtp, split)) {
        p.etp = etp;
        judge_pipelines(p);
      }
    }
  }
  static std::int16_t told_end(const std::optional<std::int32_t>& layers) {
    return layers.value_or(0) > 0 ? static_cast<std::int16_t>(*layers) : Plan::kEven;
  }
  void judge_pipelines(Plan p) {
    for (const std::int32_t interleave : ways(Degree::kInterleave, interleaves(p))) {
      p.interleave = interleave;
      if (fixed_.schedule) {
        judge_states(p, *fixed_.schedule);
        continue;
      }
      for (const Schedule schedule : q_.framework.engine.schedules) {
        if ((schedule == Schedule::kInterleaved) == (interleave > 1)) judge_states(p, schedule);
      }
    }
  }
  void judge_states(Plan p, Schedule schedule) {
    p.schedule = schedule;
    const std::int64_t batch = q_.workload.global_batch, each = std::int64_t{p.dp} * p.micro_batch;
    p.grad_accumulation = batch > 0 ? static_cast<std::int32_t>(std::max<std::int64_t>(1, batch / each))
                                    : filling_micro_batches(p);
    for (const std::int32_t stage : ways(Degree::kZero, {0, 1, 2, 3})) {
      p.zero_stage = static_cast<std::int8_t>(stage);
      keep(p);
    }
  }
  void keep(const Plan& p) {
    std::vector<Constraint> rules = space_.all_broken(p);
    if (rules.empty()) return;
    if (!found_.empty() && rules.size() > found_.front().rules.size()) return;
    if (!found_.empty() && rules.size() < found_.front().rules.size()) found_.clear();
    const auto same = [&](const Broken& known) { return known.rules == rules; };
    if (std::none_of(found_.begin(), found_.end(), same)) found_.push_back({std::move(rules), p});
  }

  const Question& q_;
  const FixedAxes& fixed_;
  Space space_;
  std::vector<std::int64_t> degrees_;
  std::int64_t experts_ = 0;
  std::vector<Broken> found_;
};

/// The told degrees that have to divide the GPUs; all four with their product, where all are told.
std::string gpu_count_said(const FixedAxes& fixed, const Violation& all) {
  std::string told;
  std::size_t count = 0;
  double product = 1;
  for (const Degree degree : {Degree::kDp, Degree::kTp, Degree::kPp, Degree::kCp}) {
    const auto value = fixed.told(degree);
    if (!value) continue;
    ++count;
    if (*value == 1) continue;
    told += (told.empty() ? "" : " x ") + std::string(name(degree)) + " " + std::to_string(*value);
    product *= *value;
  }
  if (count == 0 || count == 4 || std::fmod(all.available, product) == 0) return all.where;
  return told + " does not divide " + counted(all.available, "GPU");
}

/// Nothing where the fewest broken rules cannot be told.
std::optional<Violation> nearest_violation(const Question& q, const FixedAxes& fixed) {
  const Space space(q);
  std::optional<Violation> found;
  std::string said;
  for (const Broken& broken : Candidates(q, fixed).nearest()) {
    std::string words;
    for (const Constraint rule : broken.rules) {
      const Violation violation = space.violation(broken.plan, rule);
      words += (words.empty() ? "" : ", and ") +
               (rule == Constraint::kGpuCount ? gpu_count_said(fixed, violation) : violation.where);
      if (!found) found = violation;
    }
    said += (said.empty() ? "" : "; or ") + words;
  }
  if (found) found->where = said;
  return found;
}

/// The bounds without any one of which some plan is legal; all of them where more than one has to go.
Violation broken_by_bounds(const Question& q, const Space& space, const FixedAxes& fixed) {
  std::vector<std::string> all, alone;
  for (std::size_t i = 0; i < kDegreeCount; ++i) {
    const auto degree = static_cast<Degree>(i);
    const DegreeBounds& bounds = fixed.bounds_of(degree);
    if (bounds == DegreeBounds{}) continue;
    all.push_back(name(degree) + (" " + words(degree, bounds)));
    FixedAxes without = fixed;
    without.bounds_of(degree) = {};
    if (space.count(without) > 0) alone.push_back(all.back());
  }
  std::string said;
  const std::vector<std::string>& blamed = alone.empty() ? all : alone;
  for (const std::string& one : blamed) said += (said.empty() ? "" : ", ") + one;
  Violation found = nearest_violation(q, fixed).value_or(
      Violation{Constraint::kGpuCount, 0, 0, "no degrees of the other axes go with it"});
  found.where = "of the plans within --min, --max and --forbid, " + said +
                (blamed.size() == 1 ? " leaves none: " : " leave none: ") + found.where;
  return found;
}

}  // namespace

std::optional<Violation> why_illegal(const Question& q, const FixedAxes& fixed) {
  const Space space(q);
  if (space.count(fixed) > 0) return std::nullopt;
  FixedAxes unbounded = fixed;
  unbounded.bounds = {};
  if (!(unbounded == fixed) && space.count(unbounded) > 0) return broken_by_bounds(q, space, fixed);
  if (auto violation = nearest_violation(q, fixed)) return violation;
  return Violation{fixed.shard_group.value_or(0) > 0 ? Constraint::kZero : Constraint::kBatch, 0, 0,
                   "no degrees of the other axes go with those that were told"};
}

}  // namespace shardplan
