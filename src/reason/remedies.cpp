#include "reason/remedies.h"

#include <algorithm>
#include <limits>
#include <set>

namespace shardplan {
namespace {

using DegreeMember = std::int32_t Plan::*;

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
    for (const DegreeMember degree : {&Plan::tp, &Plan::pp, &Plan::cp}) double_degree(degree);
    shard_more();
    keep_on_host();
    bring_back();
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

  /// A higher stage over all replicas, or inside a node, where gathering does not cross the network; or more
  /// ranks to share what is sharded.
  void shard_more() {
    const std::int32_t replicas = plan_.dp * plan_.cp;
    const auto node = static_cast<std::int32_t>(estimator_.ranks_of_host());
    for (int stage = plan_.zero_stage + 1; stage <= 3; ++stage) {
      Plan p = plan_;
      p.zero_stage = static_cast<std::int8_t>(stage);
      keep(p);
      p.shard_group = node;
      if (plan_.shard_group == 0 && node > 1 && node < replicas) keep(p);
    }
    if (plan_.shard_group == 0) return;
    Plan p = plan_;
    p.shard_group = 0;
    keep(p);
    p.shard_group = 2 * plan_.shard_group;
    if (p.shard_group < replicas) keep(p);
  }

  /// The framework must be able to; whether the host has room is asked of every remedy.
  void keep_on_host() {
    if (!estimator_.question().cluster.device.pcie_bandwidth) return;
    for (const std::uint8_t more : {kState, static_cast<std::uint8_t>(kState | kParameters), kActivations}) {
      Plan p = plan_;
      p.offload |= more;
      keep(p);
    }
  }

  /// Less on the host: what a full one asks for.
  void bring_back() {
    for (const std::uint8_t less :
         {kActivations, kParameters, static_cast<std::uint8_t>(kState | kParameters)}) {
      Plan p = plan_;
      p.offload &= static_cast<std::uint8_t>(~less);
      keep(p);
    }
  }

  /// The same batch in so many times the micro-batches; false where nobody counts that far.
  static bool accumulates(Plan& p, std::int32_t times) {
    if (p.grad_accumulation > std::numeric_limits<std::int32_t>::max() / times) return false;
    p.grad_accumulation *= times;
    return true;
  }

  /// The ranks come from replicas, which then run twice the micro-batches, or from another axis.
  void double_degree(DegreeMember degree) {
    for (const DegreeMember giver : {&Plan::dp, &Plan::cp, &Plan::pp, &Plan::tp}) {
      if (giver == degree || plan_.*giver % 2 != 0) continue;
      Plan p = plan_;
      p.*degree *= 2;
      p.*giver /= 2;
      if (giver == &Plan::dp && !accumulates(p, 2)) continue;
      if (keep(p)) return;
    }
  }

  static constexpr auto kState = static_cast<std::uint8_t>(Offload::kOptimizer),
                        kParameters = static_cast<std::uint8_t>(Offload::kParameters),
                        kActivations = static_cast<std::uint8_t>(Offload::kActivations);
  const Estimator& estimator_;
  const Plan& plan_;
  std::set<Plan> plans_;
};

/// 0 = all replicas are one group.
std::string group_words(const Plan& plan) {
  return plan.shard_group == 0 ? "all" : std::to_string(plan.shard_group);
}

Bytes<> fullest_total(const Estimator& estimator, const Plan& plan) {
  int stage = 0;
  return estimator.fullest_memory<double>(plan, stage).total();
}

/// What a remedy is held against.
struct Before {
  Bytes<> memory;  // of the plan as it is
  Bytes<> room;    // what a remedy may take at most
  Seconds<> step;
};

/// A host whose memory is not told is taken to have room.
bool fits_host(const Cluster& cluster, Bytes<> need) {
  return !cluster.host_memory || need <= cluster.host_memory->value;
}

/// Nothing where it still has no room.
std::optional<Remedy> remedy(const Before& before, const Estimator& estimator, const Plan& plan) {
  const Bytes<> memory = fullest_total(estimator, plan);
  if (memory > before.room) return std::nullopt;
  const Bytes<> host = estimator.host_need(plan);
  if (!fits_host(estimator.question().cluster, host)) return std::nullopt;
  Remedy found{.change = {}, .plan = plan, .memory = memory, .freed = before.memory - memory, .step = {}};
  found.step = estimator.time<double>(plan).total() / before.step;
  found.host = host;
  return found;
}

void add_plans(const Before& before, const Estimator& estimator, const Plan& from,
               const std::set<Plan>& plans, std::vector<Remedy>& found) {
  for (const Plan& plan : plans) {
    auto one = remedy(before, estimator, plan);
    if (!one) continue;
    one->change = change_words(from, plan);
    found.push_back(*one);
  }
}

// Rank of the adapters that are proposed: PEFT's examples take 8 to 64, and the choice moves little memory.
constexpr std::int64_t kAdapterRank = 16;

bool before_in_order(const Remedy& a, const Remedy& b) {
  if (a.changes_training != b.changes_training) return b.changes_training;
  if (!(a.step == b.step)) return a.step < b.step;
  if (!(a.memory == b.memory)) return a.memory < b.memory;
  return a.plan == b.plan ? a.change < b.change : a.plan < b.plan;
}

/// The variant with the same plan; where no single change is enough (`together`), with the cheapest neighbour
/// that is.
std::optional<Remedy> training_otherwise(const Before& before, const TrainingVariant& variant,
                                         const Plan& plan, bool together) {
  const Estimator estimator(variant.question);
  std::vector<Remedy> found;
  add_plans(before, estimator, plan, {plan}, found);
  if (found.empty() && together)
    add_plans(before, estimator, plan, Neighbours(estimator, plan).plans(), found);
  if (found.empty()) return std::nullopt;
  Remedy one = *std::min_element(found.begin(), found.end(), before_in_order);
  one.change = variant.change + (one.change.empty() ? "" : ", " + one.change);
  one.changes_training = true;
  return one;
}

/// Two changes of the plan, one after the other, that are not one.
std::set<Plan> pairs_of(const Estimator& estimator, const Plan& plan, const std::set<Plan>& single) {
  std::set<Plan> pairs;
  for (const Plan& first : single) {
    const Neighbours further(estimator, first);
    for (const Plan& second : further.plans()) {
      if (second != plan && !single.contains(second)) pairs.insert(second);
    }
  }
  return pairs;
}

std::vector<Remedy> all_remedies(const Before& before, const Estimator& estimator, const Plan& plan,
                                 std::span<const BlockFormat> bases) {
  const Neighbours nearest(estimator, plan);
  const std::set<Plan>& single = nearest.plans();
  std::vector<Remedy> found, pairs;
  add_plans(before, estimator, plan, single, found);
  add_plans(before, estimator, plan, pairs_of(estimator, plan, single), pairs);
  const bool together = found.empty();
  const auto cheapest = std::min_element(found.begin(), found.end(), before_in_order);
  const Ratio<> most = together ? ratio(std::numeric_limits<double>::infinity()) : cheapest->step;
  std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(found),
               [&](const Remedy& pair) { return pair.step < most; });
  for (const TrainingVariant& variant : training_variants(estimator.question(), bases)) {
    if (auto one = training_otherwise(before, variant, plan, together)) found.push_back(*one);
  }
  std::sort(found.begin(), found.end(), before_in_order);
  return found;
}

}  // namespace

std::vector<Remedy> remedies(const Estimator& estimator, const Plan& plan, Bytes<> needed,
                             std::span<const BlockFormat> bases) {
  const Bytes<> memory = fullest_total(estimator, plan);
  return all_remedies({memory, memory - needed, estimator.time<double>(plan).total()}, estimator, plan,
                      bases);
}

std::vector<Remedy> host_remedies(const Estimator& estimator, const Plan& plan,
                                  std::span<const BlockFormat> bases) {
  return all_remedies(
      {fullest_total(estimator, plan), estimator.usable<double>(), estimator.time<double>(plan).total()},
      estimator, plan, bases);
}

std::vector<TrainingVariant> training_variants(const Question& question, std::span<const BlockFormat> bases) {
  std::vector<TrainingVariant> all;
  const auto add = [&](const char* id, const std::string& change) -> Training& {
    return all.emplace_back(TrainingVariant{id, change, question}).question.workload;
  };
  const Training& now = question.workload;
  const std::string optimizer = std::string("optimizer ") + name(now.optimizer) + " to ";
  if (now.optimizer == Optimizer::kAdamW)
    add("optimizer", optimizer + name(Optimizer::kAdamW8bit)).optimizer = Optimizer::kAdamW8bit;
  // The closed forms know neither narrower inputs nor frozen weights.
  if (question.activations == ActivationModel::kPaper) return all;
  const auto fp8 = static_cast<std::size_t>(PrecisionRecipe::kFp8);
  const bool wide = now.precision() == Precision::kBf16 || now.precision() == Precision::kFp16;
  if (wide && question.cluster.device.peak[static_cast<std::size_t>(Precision::kFp8)] &&
      question.framework.buffers.quantized[fp8].product_input.value > bytes(0)) {
    add("precision", std::string("precision ") + name(now.recipe) + " to " + name(PrecisionRecipe::kFp8))
        .recipe = PrecisionRecipe::kFp8;
  }
  if (now.adapters.rank > 0) return all;
  const Adapters adapters{.rank = kAdapterRank, .targets = targets::kAll, .base = {}};
  const std::string only = "adapters of rank " + std::to_string(kAdapterRank) + " trained alone";
  add("adapters", only).adapters = adapters;
  for (const BlockFormat& base : bases) {
    Adapters& quantized = add("adapters", only + ", base in " + base.name).adapters;
    quantized = adapters;
    quantized.base = base;
  }
  return all;
}

bool keeps_training(const std::vector<Remedy>& remedies) {
  return std::any_of(remedies.begin(), remedies.end(), [](const Remedy& r) { return !r.changes_training; });
}

std::string change_words(const Plan& from, const Plan& to) {
  std::string words;
  const auto changed = [&](const char* what, const std::string& before, const std::string& after) {
    if (before == after) return;
    words += (words.empty() ? "" : ", ") + std::string(what) + " " + before + " to " + after;
  };
  const auto degree = [&](const char* what, DegreeMember axis) {
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
  changed("shard-group", group_words(from), group_words(to));
  changed("offload", offload_names(from.offload), offload_names(to.offload));
  return words;
}

}  // namespace shardplan
