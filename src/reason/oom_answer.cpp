#include "reason/oom_answer.h"

#include <algorithm>
#include <cmath>

namespace shardplan {
namespace {

constexpr std::size_t kMatches = 5, kNearest = 3;

// c10/cuda/CUDACachingAllocator.cpp: get_allocation_size().
constexpr Bytes<> kSmall = mebibytes(1), kSmallBlock = mebibytes(2), kMiddle = mebibytes(10),
                  kMiddleBlock = mebibytes(20);

std::vector<TensorMatch> tensors_of_all_stages(const Estimator& estimator, const Plan& plan) {
  std::vector<TensorMatch> all;
  for (int stage = 0; stage < plan.pp; ++stage) {
    for (const Tensor& tensor : estimator.tensors(plan, stage)) {
      const auto known = std::find_if(all.begin(), all.end(), [&](const TensorMatch& m) {
        return m.tensor.name == tensor.name && m.tensor.bytes == tensor.bytes;
      });
      if (known == all.end()) {
        all.push_back({tensor, {stage}});
      } else {
        known->stages.push_back(stage);
        known->tensor.alive = std::max(known->tensor.alive, tensor.alive);
      }
    }
  }
  return all;
}

/// Where nothing has the requested size, the tensors that are the least factor away from it.
std::vector<TensorMatch> nearest_to(Bytes<> requested, std::vector<TensorMatch> all) {
  const auto distance = [&](const TensorMatch& m) {
    return std::fabs(std::log((m.tensor.bytes / requested).raw()));
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const TensorMatch& a, const TensorMatch& b) { return distance(a) < distance(b); });
  if (all.size() > kNearest) all.erase(all.begin() + kNearest, all.end());
  return all;
}

/// Releases before 1.2 print the tensor's own size.
double off_by(Bytes<> tensor, Bytes<> requested) {
  return std::min(std::fabs((device_block(tensor) - requested).raw()), std::fabs((tensor - requested).raw()));
}

std::vector<TensorMatch> matches_of(Bytes<> requested, const std::vector<TensorMatch>& all) {
  std::vector<TensorMatch> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](const TensorMatch& m) { return has_printed_size(m.tensor.bytes, requested); });
  // Of those as near, the ones that the account has most of come first.
  std::stable_sort(found.begin(), found.end(), [&](const TensorMatch& a, const TensorMatch& b) {
    const double off_a = off_by(a.tensor.bytes, requested), off_b = off_by(b.tensor.bytes, requested);
    return off_a != off_b ? off_a < off_b : a.tensor.held() > b.tensor.held();
  });
  if (found.size() > kMatches) found.erase(found.begin() + kMatches, found.end());
  return found;
}

}  // namespace

Bytes<> device_block(Bytes<> tensor) {
  constexpr Bytes<> kRound = mebibytes(2);
  if (tensor <= kSmall) return kSmallBlock;
  if (tensor < kMiddle) return kMiddleBlock;
  return std::ceil((tensor / kRound).raw()) * kRound;
}

std::optional<Bytes<>> shared_by_tensors_up_to(Bytes<> block) {
  if (block == kSmallBlock) return kSmall;
  return block == kMiddleBlock ? std::optional(kMiddle) : std::nullopt;
}

bool has_printed_size(Bytes<> tensor, Bytes<> requested) {
  // Two decimals of the largest unit that leaves a number above one.
  constexpr double kHalfOfLastDigit = 0.005;
  const Bytes<> unit = requested > gibibytes(1) ? gibibytes(1) : mebibytes(1);
  return off_by(tensor, requested) <= kHalfOfLastDigit * unit.raw();
}

OomAnswer oom_answer(const OutOfMemory& message) {
  OomAnswer answer;
  answer.message = message;
  return answer;
}

OomAnswer oom_answer(const OutOfMemory& message, const Estimator& estimator, const Plan& plan,
                     std::span<const BlockFormat> bases) {
  OomAnswer answer = oom_answer(message);
  OomRun& run = answer.run.emplace();
  run.plan = plan;
  run.memory = estimator.memory_account(plan);
  const std::vector<TensorMatch> all = tensors_of_all_stages(estimator, plan);
  run.matches = matches_of(message.requested, all);
  if (run.matches.empty()) run.nearest = nearest_to(message.requested, all);
  const bool stated = message.capacity && message.outside();
  const Bytes<> room = stated ? *message.capacity - *message.outside() : run.memory.usable;
  run.beyond = std::max(bytes(0), run.memory.worst().total() - room);
  const Bytes<> shortage =
      message.fragmentation() ? bytes(0) : message.shortage().value_or(message.requested);
  const Bytes<> needed = std::max(shortage, run.beyond);
  if (needed > bytes(0)) run.remedies = remedies(estimator, plan, needed, bases);
  return answer;
}

}  // namespace shardplan
