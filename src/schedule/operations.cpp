#include "schedule/operations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "graph/stages.h"

namespace shardplan {
namespace {

using Operations = std::vector<Operation>;

Operation operation(Pass pass, int piece, std::int32_t micro_batch) {
  return {pass, static_cast<std::int8_t>(piece), false, micro_batch};
}

Operations gpipe(const Plan& plan) {
  Operations list;
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (std::int32_t i = 0; i < plan.grad_accumulation; ++i) list.push_back(operation(pass, 0, i));
  }
  return list;
}

/// Micro-batches run through a rank's chunks in groups of pp; the backward passes take the chunks in reverse.
Operations group_order(const Plan& plan, Pass pass) {
  Operations list;
  const std::int32_t m = plan.grad_accumulation, group = plan.pp;
  for (std::int32_t first = 0; first < m; first += group) {
    for (int i = 0; i < plan.interleave; ++i) {
      const int piece = pass == Pass::kForward ? i : plan.interleave - 1 - i;
      for (std::int32_t k = first; k < std::min(m, first + group); ++k) {
        list.push_back(operation(pass, piece, k));
      }
    }
  }
  return list;
}

/// 1F1B, interleaved or not: forwards enough to reach the last rank, then one of each in turn.
Operations one_forward_one_backward(const Plan& plan, int rank) {
  const Operations forwards = group_order(plan, Pass::kForward),
                   backwards = group_order(plan, Pass::kBackward);
  const int after = plan.pp - 1 - rank;
  const int filling = plan.interleave > 1 ? 2 * after + (plan.interleave - 1) * plan.pp : after;
  const std::size_t warm_up = std::min(forwards.size(), static_cast<std::size_t>(filling));
  Operations list(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t i = warm_up; i < forwards.size(); ++i) {
    list.push_back(forwards[i]);
    list.push_back(backwards[i - warm_up]);
  }
  list.insert(list.end(), backwards.end() - static_cast<std::ptrdiff_t>(warm_up), backwards.end());
  return list;
}

Operations zero_bubble_h1(const Plan& plan, int rank) {
  Operations list;
  std::int32_t weights = 0;
  for (const Operation& o : one_forward_one_backward(plan, rank)) {
    if (o.pass == Pass::kForward) {
      list.push_back(o);
      continue;
    }
    list.push_back(operation(Pass::kInputGradient, 0, o.micro_batch));
    if (o.micro_batch >= rank) list.push_back(operation(Pass::kWeightGradient, 0, weights++));
  }
  while (weights < plan.grad_accumulation) list.push_back(operation(Pass::kWeightGradient, 0, weights++));
  return list;
}

/// A rank's list as it is written down, each pass of each chunk with the next micro-batch in turn.
class TwoChunkList {
 public:
  explicit TwoChunkList(std::array<std::int32_t, 2> first) : next_{first, first, first} {}

  std::int32_t count(Pass pass, int piece) const { return next_[row(pass)][static_cast<std::size_t>(piece)]; }
  void forward(int piece, bool joined = false) {
    add(Pass::kForward, piece);
    list_.back().joined = joined;
  }
  void backward(int piece) { add(Pass::kBackward, piece); }
  void input(int piece) {
    add(Pass::kInputGradient, piece);
    pending_.push_back(list_.back());
  }
  void weight(int piece) { add(Pass::kWeightGradient, piece); }
  /// The weight gradient that waits longest, of either chunk.
  void oldest_weight() {
    Operation o = pending_[done_++];
    o.pass = Pass::kWeightGradient;
    list_.push_back(o);
  }
  Operations take() { return std::move(list_); }

 private:
  static std::size_t row(Pass pass) {
    return pass == Pass::kForward ? 0 : pass == Pass::kWeightGradient ? 2 : 1;
  }
  void add(Pass pass, int piece) {
    list_.push_back(operation(pass, piece, next_[row(pass)][static_cast<std::size_t>(piece)]++));
  }

  std::array<std::array<std::int32_t, 2>, 3> next_;
  Operations list_, pending_;
  std::size_t done_ = 0;
};

Operations zero_bubble_v(const Plan& plan, int rank) {
  const int p = plan.pp;
  // The pattern is drawn for 2p - 1 micro-batches and more; with fewer, those that are not there are left
  // out.
  const std::int32_t m = plan.grad_accumulation, drawn = std::max(m, 2 * p - 1);
  TwoChunkList list({0, 0});
  for (int i = 0; i < 2 * (p - rank) - 1; ++i) list.forward(0);
  for (int i = 0; i < rank; ++i) {
    list.forward(1);
    list.forward(0);
  }
  const auto last_of_second = [&] {
    list.forward(1);
    list.input(1);
    list.weight(1);
  };
  for (int i = 0; i < p - rank; ++i) last_of_second();
  while (list.count(Pass::kForward, 1) < list.count(Pass::kForward, 0) ||
         list.count(Pass::kForward, 0) < drawn) {
    if (list.count(Pass::kForward, 0) < drawn) list.forward(0);
    list.input(0);
    list.weight(0);
    last_of_second();
  }
  for (int i = 0; i < rank; ++i) {
    list.input(0);
    list.input(1);
  }
  for (int i = 0; i < p - rank; ++i) {
    list.input(0);
    list.weight(0);
  }
  for (const int piece : {1, 0}) {
    while (list.count(Pass::kWeightGradient, piece) < drawn) list.weight(piece);
  }
  Operations all = list.take();
  std::erase_if(all, [&](const Operation& o) { return o.micro_batch >= m; });
  return all;
}

/// Half of the micro-batches go down the ranks (piece 0), half up (piece 1). `near` is the direction that
/// enters at the rank's own end.
Operations dual_pipe(const Plan& plan, int rank) {
  const int half = plan.pp / 2, from_end = std::min(rank, plan.pp - 1 - rank),
            before_middle = half - 1 - from_end;
  const int near = rank < half ? 0 : 1, far = 1 - near;
  const std::int32_t each = plan.grad_accumulation / 2;
  TwoChunkList list({0, each});
  for (int i = 0; i < 2 * before_middle; ++i) list.forward(near);
  for (int i = 0; i <= from_end; ++i) {
    list.forward(near);
    list.forward(far);
  }
  for (int i = 0; i < before_middle; ++i) {
    list.input(far);
    list.oldest_weight();
    list.forward(far);
  }
  for (int i = 0; i < each - plan.pp + from_end + 1; ++i) {
    // The two middle ranks do not overlap their first pair.
    list.forward(near, i > 0 || before_middle > 0);
    list.backward(far);
    list.forward(far, true);
    list.backward(near);
  }
  for (int i = 0; i < before_middle; ++i) {
    list.backward(far);
    list.forward(far, true);
    list.backward(near);
  }
  // The second half of the pairs leaves its weight gradients for later; odd ranks change in the middle of a
  // pair.
  const int pairs = from_end + 1, whole = pairs / 2;
  for (int i = 0; i < pairs; ++i) {
    const bool split_far = i > whole || (i == whole && from_end % 2 == 1), split_near = i >= whole;
    split_far ? list.input(far) : list.backward(far);
    split_near ? list.input(near) : list.backward(near);
  }
  for (int i = 0; i < before_middle; ++i) {
    list.oldest_weight();
    list.input(near);
  }
  for (int i = 0; i < pairs; ++i) list.oldest_weight();
  return list.take();
}

}  // namespace

const char* name(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "forward";
    case Pass::kBackward:
      return "backward";
    case Pass::kInputGradient:
      return "input gradient";
    case Pass::kWeightGradient:
      return "weight gradient";
  }
  return "?";
}

std::vector<Operation> operations_of(const Plan& plan, int rank) {
  switch (plan.schedule) {
    case Schedule::kGpipe:
      return gpipe(plan);
    case Schedule::kZbH1:
      return zero_bubble_h1(plan, rank);
    case Schedule::kZbV:
      return zero_bubble_v(plan, rank);
    case Schedule::kDualPipe:
      return dual_pipe(plan, rank);
    case Schedule::k1F1B:
    case Schedule::kInterleaved:
      break;
  }
  return one_forward_one_backward(plan, rank);
}

std::string spelled(const Operation& operation, int pieces) {
  constexpr std::array<char, 4> kLetters{'F', 'B', 'I', 'W'};
  std::string text =
      kLetters[static_cast<std::size_t>(operation.pass)] + std::to_string(operation.micro_batch);
  if (pieces > 1) text += static_cast<char>('a' + operation.piece);
  return text;
}

}  // namespace shardplan
