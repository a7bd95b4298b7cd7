#include "reason/memory_answer.h"

#include <algorithm>
#include <cmath>

#include "reason/smallest_cluster.h"

namespace shardplan {

namespace {

/// What the allocator would hold less of if it mapped blocks page by page.
std::optional<Bytes<>> joined_by_expandable_segments(const Estimator& estimator, const Plan& plan,
                                                     const MemoryAccount& now) {
  Question question = estimator.question();
  if (question.workload.expandable_segments || question.activations == ActivationModel::kPaper)
    return std::nullopt;
  question.workload.expandable_segments = true;
  const Bytes<> then =
      Estimator(question).memory_peaks<double>(plan, static_cast<int>(now.fullest), now.worst()).reserved;
  const Bytes<> freed = now.peaks[now.fullest].reserved - then;
  return freed > bytes(0) ? std::optional(freed) : std::nullopt;
}

Bytes<> total_op_by_op(const Estimator& estimator, const Plan& plan) {
  Question question = estimator.question();
  question.activations = ActivationModel::kOps;
  int stage = 0;
  return Estimator(question).fullest_memory<double>(plan, stage).total();
}

}  // namespace

std::int64_t gpus_of_node(const Cluster& cluster) {
  const std::int64_t tier = cluster.tiers.front().size, usual = cluster.device.usual_gpus_per_node;
  const bool beyond_hosts =
      usual > 0 && cluster.device.scale_up.domain_size.value.raw() > static_cast<double>(usual);
  return beyond_hosts ? std::min(tier, usual) : tier;
}

Floor state_floor(const Estimator& estimator) {
  const Cluster& cluster = estimator.question().cluster;
  Floor floor;
  floor.state = estimator.state_total<double>();
  floor.usable = estimator.usable<double>();
  floor.state_per_gpu = estimator.state_floor<double>(floor.state);
  floor.feasible = floor.state_per_gpu <= floor.usable;
  // Where all of it is offloaded, one GPU is still needed.
  floor.min_gpus = std::max(1.0, estimator.minimum_gpus<double>(floor.state, floor.usable).raw());
  const auto node = static_cast<double>(gpus_of_node(cluster));
  floor.min_gpus_whole_nodes = std::ceil(floor.min_gpus / node) * node;
  return floor;
}

std::vector<MemoryAccount> memory_accounts(const Estimator& estimator, const SearchResult& result) {
  std::vector<MemoryAccount> accounts;
  if (result.best) accounts.push_back(estimator.memory_account(result.best->plan));
  for (const Estimate& e : result.runners_up) accounts.push_back(estimator.memory_account(e.plan));
  return accounts;
}

MemoryAnswer memory_answer(const Estimator& estimator, const Plan& plan, const FixedAxes& fixed,
                           std::size_t suggest, const Evidence& evidence,
                           std::span<const BlockFormat> bases) {
  MemoryAnswer answer;
  answer.plan = plan;
  answer.count = count_parameters(estimator.question().model);
  answer.parameters = estimator.parameters();
  answer.trained = estimator.trained_parameters();
  answer.memory = estimator.memory_account(plan);
  answer.broken = estimator.broken_memory(plan, answer.memory.worst(), answer.memory.usable);
  answer.host = estimator.host_need(plan);
  const Question& question = estimator.question();
  // The closed forms of the paper were compared with no run, nor was anything frozen or offloaded.
  const bool compared = question.activations == ActivationModel::kOps &&
                        question.workload.adapters.rank == 0 && plan.offload == 0;
  const ErrorBand* band =
      compared ? find_band(evidence, kMemoryBand, question.framework.name, question.cluster.device) : nullptr;
  if (band != nullptr) answer.band = *band;
  const Bytes<> total = answer.memory.worst().total(), usable = answer.memory.usable;
  answer.verdict = answer.broken == Constraint::kHostMemory ? Verdict::kNo : verdict_of(total, usable, band);
  answer.fits = answer.verdict != Verdict::kNo;
  constexpr std::size_t kLargest = 3;
  answer.largest = largest(estimator.tensors(plan, static_cast<int>(answer.memory.fullest)), kLargest);
  if (answer.broken == Constraint::kHostMemory) {
    answer.remedies = host_remedies(estimator, plan, bases);
  } else if (answer.verdict != Verdict::kFits) {
    // Of a tight plan, enough that the band's far end fits too.
    const double band_end = answer.verdict == Verdict::kTight ? band->high_ratio : 1;
    answer.remedies = remedies(estimator, plan, total - usable / ratio(band_end), bases);
    answer.joined = joined_by_expandable_segments(estimator, plan, answer.memory);
  }
  answer.total_ops = total_op_by_op(estimator, plan);
  answer.layer_paper = estimator.layer_activations<double>(plan, 0, ActivationModel::kPaper);
  answer.layer_ops = estimator.layer_activations<double>(plan, 0, ActivationModel::kOps);
  answer.floor = state_floor(estimator);
  if (answer.broken) {
    answer.smallest = smallest_cluster(question, answer.floor);
    answer.smallest_offloading = smallest_offloading(question, answer.smallest);
  }
  if (suggest > 0) {
    answer.suggested = true;
    answer.suggestions = search(estimator, fixed, SearchOptions{.runners_up = suggest - 1});
    answer.suggestion_memory = memory_accounts(estimator, answer.suggestions);
  }
  return answer;
}

}  // namespace shardplan
