#include "reason/inputs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
using Names = std::span<const std::string_view>;

/// Constants that are shares of something, and so no more than 1.
constexpr std::array<std::string_view, 10> kShares{
    "wave_share",      "window_saved",  "tensor_hidden", "tensor_hidden_async", "tensor_hidden_experts",
    "exchange_hidden", "reduce_window", "gather_window", "ring_window",         "sends_hidden"};
/// Constants of a kernel, of a framework that say which of two things it does, not how fast.
constexpr std::array<std::string_view, 1> kKernelChoices{"tile_columns"};
constexpr std::array<std::string_view, 4> kFrameworkChoices{"exchange_once", "scattered_sends",
                                                            "older_attention", "reduced_gradient_bytes"};

bool among(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A sourced value and where it stands in a question.
template <class Quantity, class Field>
Input sourced_input(std::string name, const Sourced<Quantity>& found, Field field, double most = kAny) {
  Input input;
  input.name = std::move(name);
  input.unit = unit_name<typename Quantity::Dimension>();
  input.current = found.value.raw();
  input.most = std::max(most, input.current);
  input.spread = spread_of(found.source);
  input.set = [field](Question& q, Plan&, double v) { field(q)->value = Quantity(v); };
  return input;
}

class Inputs {
 public:
  explicit Inputs(const Question& question) : question_(question) {}

  /// `field(question)` is a pointer to a sourced value, null where the question has none.
  template <class Field>
  void add(std::string name, Field field, double most = kAny) {
    const auto* found = field(question_);
    if (found != nullptr && found->value.raw() != 0)
      all.push_back(sourced_input(std::move(name), *found, field, most));
  }

  /// All constants that `visit(question, visitor)` shows, but for choices.
  template <class Visit>
  void add_constants(const std::string& prefix, Names choices, Visit visit) {
    visit(question_, [&](const char* key, const auto& constant) {
      using Constant = std::decay_t<decltype(constant)>;
      // What no source gives is neutral: nobody has claimed that it is so much.
      if (among(choices, key) || constant.source.id.empty()) return;
      const std::string unit = unit_name<typename decltype(constant.value)::Dimension>();
      std::string name = prefix + key;
      if (!unit.empty() && name.ends_with("_" + unit)) name.resize(name.size() - unit.size() - 1);
      const auto field = [key, visit](auto& q) {
        std::conditional_t<std::is_const_v<std::remove_reference_t<decltype(q)>>, const Constant*, Constant*>
            found = nullptr;
        visit(q, [&](const char* other, auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Constant>) {
            if (std::string_view(other) == key) found = &value;
          }
        });
        return found;
      };
      add(name, field, among(kShares, key) ? 1 : kAny);
    });
  }

  std::vector<Input> all;

 private:
  const Question& question_;
};

void add_cluster(const Cluster& cluster, Inputs& inputs) {
  for (std::size_t i = 0; i < cluster.tiers.size(); ++i) {
    for (Input input : {bandwidth_input(cluster, i), latency_input(cluster, i)}) {
      if (input.current != 0) inputs.all.push_back(std::move(input));
    }
  }
  for (std::size_t p = 0; p < kPrecisionCount; ++p) {
    const std::string of = std::string("_") + name(static_cast<Precision>(p));
    const auto has = [](auto& figure) { return figure ? &*figure : nullptr; };
    // A datasheet's peak is known; how much of it is reached is not, and moves the step in the same way.
    if (!cluster.device.efficiency.gemm[p])
      inputs.add("peak" + of, [p, has](auto& q) { return has(q.cluster.device.peak[p]); });
    inputs.add(
        "gemm_efficiency" + of, [p, has](auto& q) { return has(q.cluster.device.efficiency.gemm[p]); }, 1);
    inputs.add("gemm_k_half" + of,
               [p, has](auto& q) { return has(q.cluster.device.efficiency.gemm_k_half[p]); });
  }
  inputs.add(
      "attention_efficiency", [](auto& q) { return &q.cluster.device.efficiency.attention; }, 1);
  inputs.add("hbm_bandwidth", [](auto& q) { return &q.cluster.device.memory_bandwidth; });
  inputs.add(
      "hbm_efficiency", [](auto& q) { return &q.cluster.device.efficiency.memory; }, 1);
  inputs.add("kernel_launch", [](auto& q) { return &q.cluster.device.efficiency.kernel_launch; });
  inputs.add(
      "contention", [](auto& q) { return &q.cluster.device.efficiency.contention; }, 1);
  inputs.add("host_link", [](auto& q) {
    auto& link = q.cluster.device.pcie_bandwidth;
    return link ? &*link : nullptr;
  });
  inputs.add("host_adam", [](auto& q) { return &q.framework.host.adam; });
}

/// Kernels work on tiles of so many rows: a sequence between two multiples would show their waste alone. Of
/// long ones it is the last wave of tiles that would.
constexpr std::int64_t kSequenceStep = 128, kLongStep = 1024;

/// Whole tiles, and what context and sequence parallelism divide.
std::int64_t sequence_step(const Question& question, const Plan& plan) {
  const std::int64_t slices = plan.cp > 1 ? 2 * std::int64_t{plan.cp} : 1;
  return std::lcm(question.workload.sequence >= kLongSequence ? kLongStep : kSequenceStep,
                  slices * (plan.sequence_parallel ? plan.tp : 1));
}

void add_workload(const Question& question, const Plan& plan, Inputs& inputs) {
  const Training& workload = question.workload;
  inputs.all.push_back(sequence_input(question, plan));
  inputs.all.push_back(batch_input(plan));

  Input load;
  load.name = "expert_load";
  load.current = workload.expert_load;
  load.least = 1;
  load.set = [](Question& q, Plan&, double v) { q.workload.expert_load = v; };
  inputs.all.push_back(std::move(load));

  if (!workload.data_loading) return;
  Input loading;
  loading.name = "data_loading";
  loading.unit = "s";
  loading.current = workload.data_loading->raw();
  loading.set = [](Question& q, Plan&, double v) { q.workload.data_loading = seconds(v); };
  inputs.all.push_back(std::move(loading));
}

}  // namespace

std::string tier_name(const Cluster& cluster, std::size_t tier) {
  if (tier == 0) return "intra_node";
  return tier + 1 == cluster.tiers.size() ? "inter_node" : cluster.tiers[tier].name;
}

Input bandwidth_input(const Cluster& cluster, std::size_t tier) {
  return sourced_input("bandwidth_" + tier_name(cluster, tier), cluster.tiers[tier].bandwidth,
                       [tier](auto& q) { return &q.cluster.tiers[tier].bandwidth; });
}

Input latency_input(const Cluster& cluster, std::size_t tier) {
  return sourced_input("latency_" + tier_name(cluster, tier), cluster.tiers[tier].latency,
                       [tier](auto& q) { return &q.cluster.tiers[tier].latency; });
}

Input sequence_input(const Question& question, const Plan& plan) {
  Input input;
  input.name = "sequence";
  input.unit = "tokens";
  input.current = static_cast<double>(question.workload.sequence);
  input.step = static_cast<double>(sequence_step(question, plan));
  input.set = [](Question& q, Plan&, double v) { q.workload.sequence = static_cast<std::int64_t>(v); };
  return input;
}

Input batch_input(const Plan& plan) {
  Input input;
  const std::int64_t each = std::int64_t{plan.dp} * plan.micro_batch;
  input.name = "global_batch";
  input.unit = "sequences";
  input.current = static_cast<double>(plan.sequences());
  // Chunks take their micro-batches in whole turns of the stages.
  input.step = static_cast<double>(each * (plan.interleave > 1 ? plan.pp : 1));
  input.set = [each](Question& q, Plan& p, double v) {
    q.workload.global_batch = static_cast<std::int64_t>(v);
    p.grad_accumulation = static_cast<std::int32_t>(q.workload.global_batch / each);
  };
  return input;
}

std::vector<Input> time_inputs(const Question& question, const Plan& plan) {
  Inputs inputs(question);
  add_cluster(question.cluster, inputs);
  inputs.add_constants("kernels.", kKernelChoices,
                       [](auto& q, auto visitor) { visit_law(q.cluster.device.law, visitor); });
  inputs.add_constants("framework.", kFrameworkChoices,
                       [](auto& q, auto visitor) { visit_timing(q.framework.timing, visitor); });
  add_workload(question, plan, inputs);
  return std::move(inputs.all);
}

}  // namespace shardplan
