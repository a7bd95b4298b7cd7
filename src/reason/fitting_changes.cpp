#include "reason/fitting_changes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "reason/memory_answer.h"
#include "reason/remedies.h"
#include "reason/sentence.h"
#include "reason/smallest_cluster.h"
#include "reason/threshold_hbm.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// GPU counts that are tried one step after the other, then by factors, as far as is looked.
constexpr int kStepsTried = 6;
constexpr std::array kGpuFactors{1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0};
/// In searches without several limits at once.
constexpr std::int64_t kManyTimes = 8;
/// A sequence that fits is sought to this part of a power of two of what was asked.
constexpr std::int64_t kSequenceParts = 8;
constexpr std::int64_t kSequenceLeast = 128;
constexpr double kAnyMemory = 1e18;

/// Replicas take what the other axes leave.
void ask_on(AskedPlan& asked, std::int64_t gpus) {
  set_gpus(asked.question.cluster, gpus);
  asked.fixed.dp.reset();
  asked.fixed.bounds_of(Degree::kDp) = {};
  asked.question.fixed = asked.fixed;
}

class FittingChanges {
 public:
  FittingChanges(const Estimator& base, const FixedAxes& fixed, const SearchResult& result,
                 SearchWatch* watch)
      : question_(base.question()),
        fixed_(fixed),
        result_(result),
        watch_(watch),
        floor_(state_floor(base)) {}

  AskedPlan asked() const { return {question_, fixed_}; }
  const Question& question() const { return question_; }

  std::optional<FittingChange> hbm() const;
  std::optional<FittingChange> gpus() const;
  std::optional<FittingChange> sequence() const;
  std::optional<FittingChange> batch() const;
  std::optional<FittingChange> host_memory() const;
  std::optional<FittingChange> offload() const;
  std::optional<FittingChange> freed(const ToldLimit& told) const;
  std::optional<FittingChange> trained(const TrainingVariant& variant) const;
  /// With the first optimizer that keeps little enough, nearest to the variant's own.
  std::optional<FittingChange> other_optimizer(TrainingVariant variant) const;

 private:
  std::optional<Estimate> best(const AskedPlan& asked) const { return best_of(asked, watch_); }
  std::optional<Estimate> on(std::int64_t gpus) const {
    AskedPlan other = asked();
    ask_on(other, gpus);
    return best(other);
  }
  std::optional<Estimate> of_sequence(std::int64_t tokens) const {
    AskedPlan other = asked();
    other.question.workload.sequence = tokens;
    return best(other);
  }
  /// GPUs are bought by the node; inside one, one by one.
  std::int64_t next_count(std::int64_t gpus) const {
    const std::int64_t node = gpus_of_node(question_.cluster);
    return gpus < node ? gpus + 1 : (gpus / node + 1) * node;
  }
  FittingChange change(const char* id, const AskedPlan& asked, const Estimate& best, const Sentence& what,
                       const Sentence& price) const;

  const Question& question_;
  const FixedAxes& fixed_;
  const SearchResult& result_;
  SearchWatch* watch_;
  Floor floor_;
};

FittingChange FittingChanges::change(const char* id, const AskedPlan& asked, const Estimate& best,
                                     const Sentence& what, const Sentence& price) const {
  FittingChange found;
  found.id = id;
  found.statement = what.words();
  found.price = price.words();
  found.plan = best.plan;
  found.step = best.step;
  found.gpus = asked.question.cluster.gpus;
  found.host = Estimator(asked.question).host_need(best.plan);
  found.tokens = static_cast<double>(best.plan.sequences() * asked.question.workload.sequence);
  found.figures = (Sentence(what) << price).figures();
  return found;
}

/// The nearest miss is the smallest of all plans.
std::optional<FittingChange> FittingChanges::hbm() const {
  const auto& miss = result_.census.nearest_miss;
  if (!miss) return std::nullopt;
  const Bytes<> now = question_.cluster.device.memory_reported.value;
  // What is typed as it is printed has to be enough.
  const Bytes<> then = rounded_up(bytes(hbm_of(question_.cluster, miss->memory.total())));
  AskedPlan other = asked();
  other.question.cluster.device.memory_reported.value = then;
  const auto found = best(other);
  if (!found) return std::nullopt;
  Sentence what("HBM of a GPU from "), price;
  what << stated("hbm", now) << " to " << stated("hbm_needed", then);
  price << stated("hbm_more", then - now) << " more on each, " << stated("hbm_times", then / now)
        << " times as much";
  FittingChange one = change("hbm", other, *found, what, price);
  one.from = now.raw();
  one.to = then.raw();
  one.unit = "bytes";
  return one;
}

/// Counted up from what the state alone needs: a few counts one by one, then in larger steps and back.
std::optional<FittingChange> FittingChanges::gpus() const {
  const std::int64_t now = question_.cluster.gpus;
  std::int64_t last = std::max(now, static_cast<std::int64_t>(floor_.min_gpus) - 1);
  std::int64_t count = next_count(last);
  std::optional<Estimate> found;
  for (int i = 0; i < kStepsTried && !found && !stopped(watch_); ++i) {
    if ((found = on(count))) break;
    last = count;
    count = next_count(count);
  }
  for (const double factor : kGpuFactors) {
    if (found || stopped(watch_)) break;
    count = next_count(static_cast<std::int64_t>(factor * static_cast<double>(now)) - 1);
    if (count <= last) continue;
    if ((found = on(count))) break;
    last = count;
  }
  while (found && !stopped(watch_)) {
    const std::int64_t middle = next_count((last + count) / 2 - 1);
    if (middle <= last || middle >= count) break;
    const auto fewer = on(middle);
    (fewer ? count : last) = middle;
    if (fewer) found = fewer;
  }
  if (!found) return std::nullopt;
  AskedPlan other = asked();
  ask_on(other, count);
  Sentence what("GPUs from "), price;
  what << stated_count("gpus", now, "GPUs") << " to " << stated_count("gpus_needed", count, "GPUs");
  if (fixed_.dp) what << ", dp not told";
  if (question_.workload.global_batch > 0)
    what << " at a global batch of "
         << stated_count("global_batch", question_.workload.global_batch, "sequences");
  price << stated_count("gpus_more", count - now, "GPUs") << " more, ";
  price << stated("gpus_times", ratio(static_cast<double>(count) / static_cast<double>(now)))
        << " times as many";
  const Cluster& cluster = question_.cluster;
  if (cluster.tiers.size() == 1 && count > cluster.tiers.front().size) {
    if (cluster.beyond.empty()) {
      price << ", as in one node, since what would connect two was not told";
    } else {
      const Tier& joins = cluster.beyond.front();
      price << ", joined by the " + joins.name + " at " << stated("joined_at", joins.bandwidth.value);
    }
  }
  FittingChange one = change("gpus", other, *found, what, price);
  one.from = static_cast<double>(now);
  one.to = static_cast<double>(count);
  one.unit = "GPUs";
  return one;
}

/// Halved until some plan fits, and from there up in eighths: what divides a sequence comes and goes.
std::optional<FittingChange> FittingChanges::sequence() const {
  const std::int64_t now = question_.workload.sequence;
  std::optional<Estimate> found;
  std::int64_t tokens = now;
  while (!found && tokens / 2 >= kSequenceLeast && !stopped(watch_)) {
    tokens /= 2;
    found = of_sequence(tokens);
  }
  if (!found) return std::nullopt;
  const std::int64_t part = std::max<std::int64_t>(1, tokens / kSequenceParts);
  for (std::int64_t fits = 0, over = kSequenceParts; over - fits > 1 && !stopped(watch_);) {
    const std::int64_t middle = (fits + over) / 2;
    const auto longer = of_sequence(tokens + middle * part);
    (longer ? fits : over) = middle;
    if (longer) found = longer;
    if (over - fits == 1) tokens += fits * part;
  }
  AskedPlan other = asked();
  other.question.workload.sequence = tokens;
  Sentence what("sequence from "), price;
  what << stated_count("sequence", now, "tokens") << " to "
       << stated_counted("sequence_that_fits", tokens, "token", "s", "tokens");
  price << stated_counted("tokens_lost", now - tokens, "token", "s", "tokens") << " of each sequence lost, ";
  price << stated_share("share_lost", ratio(1 - static_cast<double>(tokens) / static_cast<double>(now)));
  FittingChange one = change("sequence", other, *found, what, price);
  one.from = static_cast<double>(now);
  one.to = static_cast<double>(tokens);
  one.unit = "tokens";
  return one;
}

/// Any number of sequences that plans divide.
std::optional<FittingChange> FittingChanges::batch() const {
  AskedPlan other = asked();
  other.question.workload.global_batch = 0;
  const auto found = best(other);
  if (!found) return std::nullopt;
  const std::int64_t now = question_.workload.global_batch, then = found->plan.sequences();
  Sentence what("batch from "), price;
  what << stated_count("batch", now) << " to " << stated_counted("batch_that_fits", then, "sequence");
  price << stated("batch_times", ratio(static_cast<double>(then) / static_cast<double>(now)));
  price << " times the batch";
  FittingChange one = change("batch", other, *found, what, price);
  one.from = static_cast<double>(now);
  one.to = static_cast<double>(then);
  one.unit = "sequences";
  one.changes_training = true;
  return one;
}

/// The nearest host miss asks least of a host.
std::optional<FittingChange> FittingChanges::host_memory() const {
  const auto& miss = result_.census.nearest_host;
  if (!miss || !question_.cluster.host_memory) return std::nullopt;
  const Bytes<> now = question_.cluster.host_memory->value, then = rounded_up(miss->need);
  AskedPlan other = asked();
  other.question.cluster.host_memory->value = then;
  const auto found = best(other);
  if (!found) return std::nullopt;
  Sentence what("memory of a node's host from "), price;
  what << stated("host", now) << " to " << stated("host_needed", then);
  price << stated("host_more", then - now) << " more on each, ";
  price << stated("host_times", then / now) << " times as much";
  FittingChange one = change("host_memory", other, *found, what, price);
  one.from = now.raw();
  one.to = then.raw();
  one.unit = "bytes";
  return one;
}

/// The first that is enough, of which the least is kept on a host.
std::optional<FittingChange> FittingChanges::offload() const {
  for (const std::uint8_t kept : offload_choices()) {
    AskedPlan other = asked();
    other.fixed.offload = other.question.fixed.offload = kept;
    const auto found = best(other);
    if (!found) continue;
    Sentence price;
    price << stated("host_needed", rounded_up(Estimator(other.question).host_need(found->plan)));
    price << " of the memory of each node's host";
    return change("offload", other, *found, Sentence("offload " + offload_names(kept)), price);
  }
  return std::nullopt;
}

std::optional<FittingChange> FittingChanges::freed(const ToldLimit& told) const {
  AskedPlan other = asked();
  told.free(other.fixed);
  other.question.fixed = other.fixed;
  const auto found = best(other);
  if (!found) return std::nullopt;
  return change(
      told.limit.id.c_str(), other, *found,
      Sentence(told.limit.statement.substr(0, told.limit.statement.rfind(" is told")) + " not told"),
      Sentence("nothing to buy"));
}

std::optional<FittingChange> FittingChanges::trained(const TrainingVariant& variant) const {
  const AskedPlan other{variant.question, fixed_};
  const auto found = best(other);
  if (!found) return std::nullopt;
  FittingChange one =
      change(variant.id, other, *found, Sentence(variant.change), Sentence("other numbers come out"));
  one.changes_training = true;
  return one;
}

std::optional<FittingChange> FittingChanges::other_optimizer(TrainingVariant variant) const {
  for (const Optimizer optimizer : {Optimizer::kAdamW8bit, Optimizer::kAdamWBf16, Optimizer::kAdafactor}) {
    variant.question.workload.optimizer = optimizer;
    variant.change =
        std::string("optimizer ") + name(question_.workload.optimizer) + " to " + name(optimizer);
    if (auto one = trained(variant)) return one;
  }
  return std::nullopt;
}

/// Those of the machine and the workload.
void add_amounts(const std::shared_ptr<FittingChanges>& scan, std::vector<MovableLimit>& all) {
  const Question& q = scan->question();
  const Cluster& cluster = q.cluster;
  Sentence gpus, hbm, sequence, batch;
  gpus << stated_counted("gpus", cluster.gpus, "GPU");
  hbm << stated("hbm", cluster.device.memory_reported.value) << " of HBM on a GPU";
  sequence << "sequences of " << stated_counted("sequence", q.workload.sequence, "token");
  all.push_back({{"gpus", gpus.words(), static_cast<double>(cluster.gpus), "GPUs"},
                 ChangeCost::kMore,
                 true,
                 [scan] { return scan->gpus(); },
                 [](AskedPlan& asked) { ask_on(asked, kManyTimes * asked.question.cluster.gpus); }});
  all.push_back(
      {{"hbm", hbm.words(), cluster.device.memory_reported.value.raw(), "bytes"},
       ChangeCost::kMore,
       true,
       [scan] { return scan->hbm(); },
       [](AskedPlan& asked) { asked.question.cluster.device.memory_reported.value = bytes(kAnyMemory); }});
  all.push_back({{"sequence", sequence.words(), static_cast<double>(q.workload.sequence), "tokens"},
                 ChangeCost::kMore,
                 false,
                 [scan] { return scan->sequence(); },
                 [](AskedPlan& asked) {
                   while (asked.question.workload.sequence / 2 >= kSequenceLeast)
                     asked.question.workload.sequence /= 2;
                 }});
  if (q.workload.global_batch <= 0) return;
  batch << stated_counted("batch", q.workload.global_batch, "sequence") << " a step";
  all.push_back({{"batch", batch.words(), static_cast<double>(q.workload.global_batch), "sequences"},
                 ChangeCost::kTraining,
                 false,
                 [scan] { return scan->batch(); },
                 [](AskedPlan& asked) { asked.question.workload.global_batch = 0; }});
}

/// What a host may take, and in what is trained.
void add_ways(const std::shared_ptr<FittingChanges>& scan, const FixedAxes& fixed, bool host_is_full,
              std::vector<MovableLimit>& all) {
  const Question& q = scan->question();
  if (host_is_full) {
    const Bytes<> host = q.cluster.host_memory->value;
    Sentence has;
    has << stated("host", host) << " of memory on a node's host";
    all.push_back({{"host_memory", has.words(), host.raw(), "bytes"},
                   ChangeCost::kMore,
                   true,
                   [scan] { return scan->host_memory(); },
                   [](AskedPlan& asked) { asked.question.cluster.host_memory.reset(); }});
  }
  if (fixed.offload.value_or(0) == 0 && q.cluster.device.pcie_bandwidth)
    all.push_back({{"offload", "nothing kept on a host", 0, ""},
                   ChangeCost::kSlower,
                   true,
                   [scan] { return scan->offload(); },
                   {}});
  for (const TrainingVariant& variant : training_variants(q)) {
    const bool optimizer = variant.id == std::string("optimizer");
    const std::string now = optimizer ? std::string("optimizer ") + name(q.workload.optimizer)
                            : variant.id == std::string("precision")
                                ? std::string("precision ") + name(q.workload.recipe)
                                : "all parameters are trained";
    all.push_back({{variant.id, now, 0, ""},
                   ChangeCost::kTraining,
                   true,
                   [scan, variant, optimizer] {
                     return optimizer ? scan->other_optimizer(variant) : scan->trained(variant);
                   },
                   {}});
  }
}

}  // namespace

std::optional<Estimate> best_of(const AskedPlan& asked, SearchWatch* watch) {
  if (stopped(watch)) return std::nullopt;
  return fastest(Estimator(asked.question), asked.fixed, std::nullopt, watch).best;
}

std::vector<MovableLimit> movable_limits(const Estimator& estimator, const FixedAxes& fixed,
                                         const SearchResult& result, SearchWatch* watch) {
  const auto scan = std::make_shared<FittingChanges>(estimator, fixed, result, watch);
  std::vector<MovableLimit> all;
  for (const ToldLimit& told : told_limits(fixed)) {
    all.push_back({told.limit, ChangeCost::kNothing, false, [scan, told] { return scan->freed(told); },
                   [told](AskedPlan& asked) {
                     told.free(asked.fixed);
                     asked.question.fixed = asked.fixed;
                   }});
  }
  add_amounts(scan, all);
  add_ways(scan, fixed, result.census.nearest_host.has_value(), all);
  return all;
}

}  // namespace shardplan
