#include "reason/remedies.h"

#include <algorithm>
#include <limits>
#include <set>

namespace shardplan {
namespace {

using Degree = std::int32_t Plan::*;

/// What follows from the degrees: a run with one replica has nothing to shard over, one with one stage no
/// schedule, one with one tensor rank no sequence parallelism.
void settle(const Question& question, const Plan& before, Plan& plan) {
  if (plan.dp * plan.cp == 1) plan.zero_stage = 0;
  if (plan.zero_stage == 0) plan.shard_group = 0;
  if (plan.pp == 1) {
    plan.schedule = Schedule::k1F1B;
    plan.interleave = 1;
  }
  if (before.tp == 1) plan.sequence_parallel = question.fixed.sequence_parallel.value_or(true);
  if (plan.tp == 1) plan.sequence_parallel = false;
  if (before.etp > 1 && before.etp == before.tp) plan.etp = plan.tp;
}

/// More recomputed than now. The closed forms of the paper know the attention core and whole layers only.
std::vector<Recompute> more_recomputed(const Question& question, const Recompute& now) {
  std::vector<Recompute> more;
  if (!now.whole_layers()) {
    for (int i = 0; i < kModuleCount; ++i) {
      const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(i));
      const Recompute with = Recompute::of_modules(static_cast<std::uint8_t>(now.modules | bit));
      const bool known = question.activations == ActivationModel::kOps || with == Recompute::kSelective;
      if (known && with != now) more.push_back(with);
    }
  }
  if (now != Recompute::kFull) more.push_back(Recompute::kFull);
  return more;
}

class Neighbours {
 public:
  Neighbours(const Estimator& estimator, const Plan& plan) : estimator_(estimator), plan_(plan) {
    shrink_micro_batch();
    for (const Recompute& more : more_recomputed(estimator.question(), plan.recompute)) {
      Plan p = plan;
      p.recompute = more;
      keep(p);
    }
    for (const Degree degree : {&Plan::tp, &Plan::pp, &Plan::cp}) double_degree(degree);
    for (int stage = plan.zero_stage + 1; stage <= 3; ++stage) {
      Plan p = plan;
      p.zero_stage = static_cast<std::int8_t>(stage);
      keep(p);
    }
    Plan p = plan;
    p.ep *= 2;
    keep(p);
  }
  const std::set<Plan>& plans() const { return plans_; }

 private:
  bool keep(Plan p) {
    settle(estimator_.question(), plan_, p);
    if (p == plan_ || estimator_.space().first_broken(p)) return false;
    plans_.insert(p);
    return true;
  }

  void shrink_micro_batch() {
    const std::int32_t parts = plan_.micro_batch % 2 == 0 ? 2 : plan_.micro_batch;
    Plan p = plan_;
    p.micro_batch /= parts;
    if (accumulates(p, parts)) keep(p);
  }

  /// The same batch in so many times the micro-batches; false where nobody counts that far.
  static bool accumulates(Plan& p, std::int32_t times) {
    if (p.grad_accumulation > std::numeric_limits<std::int32_t>::max() / times) return false;
    p.grad_accumulation *= times;
    return true;
  }

  /// The ranks come from replicas, which then run twice the micro-batches, or from another axis.
  void double_degree(Degree degree) {
    for (const Degree giver : {&Plan::dp, &Plan::cp, &Plan::pp, &Plan::tp}) {
      if (giver == degree || plan_.*giver % 2 != 0) continue;
      Plan p = plan_;
      p.*degree *= 2;
      p.*giver /= 2;
      if (giver == &Plan::dp && !accumulates(p, 2)) continue;
      if (keep(p)) return;
    }
  }

  const Estimator& estimator_;
  const Plan& plan_;
  std::set<Plan> plans_;
};

Bytes<> fullest_total(const Estimator& estimator, const Plan& plan) {
  int stage = 0;
  return estimator.fullest_memory<double>(plan, stage).total();
}

std::vector<Remedy> those_that_free(const Estimator& estimator, const Plan& from, Bytes<> needed,
                                    const std::set<Plan>& plans) {
  const Bytes<> now = fullest_total(estimator, from);
  const Seconds<> step = estimator.time<double>(from).total();
  std::vector<Remedy> found;
  for (const Plan& plan : plans) {
    const Bytes<> memory = fullest_total(estimator, plan);
    if (!(now > memory) || now - memory < needed) continue;
    found.push_back(
        {change_words(from, plan), plan, memory, now - memory, estimator.time<double>(plan).total() / step});
  }
  std::sort(found.begin(), found.end(), [](const Remedy& a, const Remedy& b) {
    if (!(a.step == b.step)) return a.step < b.step;
    return a.memory == b.memory ? a.plan < b.plan : a.memory < b.memory;
  });
  return found;
}

}  // namespace

std::vector<Remedy> remedies(const Estimator& estimator, const Plan& plan, Bytes<> needed) {
  const Neighbours nearest(estimator, plan);
  const std::set<Plan>& single = nearest.plans();
  std::vector<Remedy> found = those_that_free(estimator, plan, needed, single);
  if (!found.empty()) return found;
  std::set<Plan> pairs;
  for (const Plan& first : single) {
    const Neighbours further(estimator, first);
    for (const Plan& second : further.plans()) {
      if (second != plan && !single.contains(second)) pairs.insert(second);
    }
  }
  return those_that_free(estimator, plan, needed, pairs);
}

std::string change_words(const Plan& from, const Plan& to) {
  std::string words;
  const auto changed = [&](const char* what, const std::string& before, const std::string& after) {
    if (before == after) return;
    words += (words.empty() ? "" : ", ") + std::string(what) + " " + before + " to " + after;
  };
  const auto degree = [&](const char* what, Degree axis) {
    changed(what, std::to_string(from.*axis), std::to_string(to.*axis));
  };
  degree("micro-batch", &Plan::micro_batch);
  changed("recompute", name(from.recompute), name(to.recompute));
  degree("tp", &Plan::tp);
  degree("pp", &Plan::pp);
  degree("cp", &Plan::cp);
  degree("dp", &Plan::dp);
  degree("ep", &Plan::ep);
  degree("etp", &Plan::etp);
  degree("interleave", &Plan::interleave);
  changed("schedule", name(from.schedule), name(to.schedule));
  changed("zero", std::to_string(from.zero_stage), std::to_string(to.zero_stage));
  return words;
}

}  // namespace shardplan
