// What changes when only adapters are trained: the frozen base's bytes, and what its products keep.
#include "cost/adapters.h"

#include <algorithm>

#include "cost/state.h"
#include "estimate/estimator.h"
#include "estimate/plan_leaves.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

bool expert(const Gemm& gemm) {
  return gemm.cut == GemmCut::kExpertColumn || gemm.cut == GemmCut::kExpertRow;
}
bool row(const Gemm& gemm) { return gemm.cut == GemmCut::kRow || gemm.cut == GemmCut::kExpertRow; }

/// Into how many parts tensor parallelism cuts a weight.
double split(const Plan& plan, const Gemm& gemm) {
  if (gemm.cut == GemmCut::kWhole) return 1;
  return expert(gemm) ? plan.etp : plan.tp;
}

}  // namespace

Estimator::AdaptedWidths Estimator::adapted_widths(const Plan& plan, const LayerOps& ops) const {
  AdaptedWidths widths;
  for (const Gemm& gemm : ops.gemms) {
    for (const AdaptedProduct& product : gemm.adapted) {
      if ((product.targets & question_.workload.adapters.targets) == 0 || product.out == 0) continue;
      const double parts = split(plan, gemm);
      const double both = row(gemm) ? gemm.in / parts + product.out : gemm.in + product.out / parts;
      if (expert(gemm)) {
        widths.expert += both * ops.experts / plan.ep;
        widths.met += ops.top_k * plan.etp * question_.workload.expert_load;
      } else {
        widths.dense += both;
        widths.met += 1;
      }
    }
  }
  return widths;
}

double Estimator::adapter_count(const LayerOps& ops) const {
  double count = 0;
  for (const Gemm& gemm : ops.gemms) {
    for (const AdaptedProduct& product : gemm.adapted) {
      if ((product.targets & question_.workload.adapters.targets) != 0 && product.out > 0) ++count;
    }
  }
  return count;
}

double Estimator::trained_parameters() const {
  if (!frozen()) return parameters_;
  double expert = 0;
  const double dense = trained_parameters(Plan{}, 0, expert);
  return dense + expert;
}

template <class N>
Bytes<N> Estimator::adapter_activations(const Plan& plan, const LayerOps& ops) const {
  return call<AdapterActivations>(AdapterActivations::In<N>{
      micro_batch_tokens<N>(plan),
      leaf<N>("rank of an adapter", d(question_.workload.adapters.rank), "workload"),
      leaf<N>("adapters that a token meets", adapted_widths(plan, ops).met, model_source_)});
}

template <class N>
Bytes<N> Estimator::base_width() const {
  const auto& base = question_.workload.adapters.base;
  if (!base) return leaf<N>("bytes of a frozen weight", gathered_weight().value, gathered_weight().source);
  const auto number = [](const char* what, const Sourced<Ratio<>>& q) {
    return leaf<N>(what, q.value, q.source);
  };
  return call<BlockWidth>(BlockWidth::In<N>{
      number("bits of a weight", base->bits), number("weights of a block", base->block),
      number("bits of a scale", base->scale_bits), number("scales of a second block", base->scales_block),
      number("bits of a second scale", base->second_scale_bits)});
}

/// Linear layers in the base's format, everything else in 16 bits.
template <class N>
Bytes<N> Estimator::frozen_weights(const Plan& plan, int stage) const {
  double experts = 0;
  const double dense = stage_parameters(plan, stage, experts);
  const double linear = linear_parameters(plan, stage) - experts;
  const Framework::Sharding& shards = question_.framework.zero[static_cast<std::size_t>(plan.zero_stage)];
  const bool sharded = shards.weights && !(question_.framework.pipeline_keeps_gathered && plan.pp > 1);
  const auto part = [&](const Bytes<N>& width, double dense_count, double expert_count) {
    return call<StateTerm>(
        StateTerm::In<N>{width, leaf<N>("frozen dense parameters on the rank", dense_count, model_source_),
                         degree<N>("dense shards", sharded ? dense_shards(plan) : 1),
                         leaf<N>("frozen expert parameters on the rank", expert_count, model_source_),
                         degree<N>("expert shards", sharded ? expert_shards(plan) : 1)});
  };
  const Bytes<N> layers = part(base_width<N>(), linear, experts);
  return layers + part(leaf<N>("bytes of a frozen weight", gathered_weight().value, gathered_weight().source),
                       dense - linear, 0);
}

template <class N>
Bytes<N> Estimator::widened_weight(const Plan& plan, const LayerOps& ops) const {
  double most = 0;
  for (const Gemm& gemm : ops.gemms) {
    if (!gemm.router) most = std::max(most, gemm.in * gemm.out / split(plan, gemm));
  }
  return call<WidenedWeight>(
      WidenedWeight::In<N>{leaf<N>("elements of the largest weight", most, model_source_)});
}

/// Of the whole model, all ranks together.
template <class N>
Bytes<N> Estimator::frozen_state() const {
  const Plan whole;
  double expert_base = 0, expert_adapters = 0;
  const double base = stage_parameters(whole, 0, expert_base);
  const double adapters = trained_parameters(whole, 0, expert_adapters);
  const double linear = linear_parameters(whole, 0);
  const auto total = [&](double parameters, const Bytes<N>& width) {
    return call<StateTotal>(StateTotal::In<N>{leaf<N>("parameters", parameters, model_source_), width});
  };
  return total(linear, base_width<N>()) +
         total(base + expert_base - linear,
               leaf<N>("bytes of a frozen weight", gathered_weight().value, gathered_weight().source)) +
         total(adapters + expert_adapters,
               leaf<N>("state bytes of an adapter's parameter", bytes_per_parameter(),
                       "framework " + question_.framework.name + ", " + name(question_.workload.optimizer)));
}

#define SHARDPLAN_INSTANTIATE(N)                                                           \
  template Bytes<N> Estimator::adapter_activations<N>(const Plan&, const LayerOps&) const; \
  template Bytes<N> Estimator::base_width<N>() const;                                      \
  template Bytes<N> Estimator::frozen_weights<N>(const Plan&, int) const;                  \
  template Bytes<N> Estimator::widened_weight<N>(const Plan&, const LayerOps&) const;      \
  template Bytes<N> Estimator::frozen_state<N>() const;
SHARDPLAN_INSTANTIATE(double)
SHARDPLAN_INSTANTIATE(Traced)
#undef SHARDPLAN_INSTANTIATE

}  // namespace shardplan
