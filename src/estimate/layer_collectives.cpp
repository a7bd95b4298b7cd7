// Time of one layer's collectives: tensor, expert and context parallelism, and what of it is overlapped.
#include <cmath>

#include "cost/step_collectives.h"
#include "estimate/plan_leaves.h"
#include "estimate/plan_parts.h"

namespace shardplan {
namespace {

double d(std::int64_t v) { return static_cast<double>(v); }

// The backward pass of sequence parallelism gathers a layer's input once more, for the gradient of its
// weights.
constexpr double kSequenceBackward = 1.25;

/// Distinct holders that a token's experts are spread over, of `holders`, as copies for each expert.
double copies(double holders, double top_k) {
  return holders * (1 - std::pow(1 - 1 / holders, top_k)) / top_k;
}

/// What is felt of a collective of which a share runs beside other work of its pass, as far as there is any.
template <class N>
Seconds<N> felt(const Seconds<N>& spent, const Sourced<Ratio<>>& hidden, const Seconds<N>& work) {
  return max(spent * (Ratio<N>(N(1.0)) - leaf<N>("share that is overlapped", hidden.value, hidden.source)),
             spent - work);
}

/// Share of tensor-parallel collectives that runs beside other work.
const Sourced<Ratio<>>& tensor_hidden(const Timing& timing, TensorOverlap overlap, bool experts) {
  static const Sourced<Ratio<>> kNone{ratio(0), {SourceKind::kUser, "flag", "--tp-overlap off", "", "", ""}};
  if (overlap == TensorOverlap::kOff) return kNone;
  if (experts) return timing.tensor_hidden_experts;
  return overlap == TensorOverlap::kAsync ? timing.tensor_hidden_async : timing.tensor_hidden;
}

}  // namespace

/// One collective of a layer's activation between the ranks that share its products.
template <class N>
AxisCost<N> Estimator::tensor_cost(const Plan& plan) const {
  const Bytes<N> size =
      named("activation of one micro-batch",
            micro_batch_tokens<N>(plan) * leaf<N>("hidden size", d(question_.model.hidden), model_source_) *
                leaf<N>("bytes of an activation", bytes(2), "16-bit activations"));
  const auto cost = step_collective<N>(Collective::kAllReduce, size, links<N>(), question_.cluster,
                                       tensor_group(plan), question_.cluster.device.law.collective);
  return {cost, Seconds<N>(N(0.0)), value_of(size), 0};
}

template <class N>
void Estimator::add_tensor(const Plan& plan, const LayerOps& ops, const GroupCost<N>& cost,
                           LayerTime<N>& layer) const {
  // One for the mixer, one for the MLP; experts without their own tensor parallelism need none.
  const bool mlp = ops.mlp_matrices > 0 && (ops.experts == 0 || ops.shared_width > 0 || plan.etp > 1);
  layer.tensor_forward = cost.cost.total() * Ratio<N>(N(mlp ? 2.0 : 1.0));
  layer.tensor_backward = layer.tensor_forward;
  if (plan.sequence_parallel && has_collective_law(question_.cluster)) {
    layer.tensor_backward = layer.tensor_forward * Ratio<N>(N(kSequenceBackward));
  }
  const Sourced<Ratio<>>& hidden = tensor_hidden(
      question_.framework.timing, question_.workload.kernels.tensor_overlap, kinds_.has_experts);
  layer.tensor_forward_exposed = felt<N>(layer.tensor_forward, hidden, layer.forward());
  layer.tensor_backward_exposed = felt<N>(layer.tensor_backward, hidden, layer.backward());
}

/// Dispatch and combine. A token goes to each domain that holds one of its experts once, and inside it to
/// each expert, or once to each rank where the dispatcher says so.
template <class N>
GroupCost<N> Estimator::token_exchange(const Plan& plan, const LayerOps& ops, const Bytes<N>& size) const {
  const Cluster& cluster = question_.cluster;
  const std::vector<Link<N>>& links = this->links<N>();
  const Group group = expert_group(plan);
  if (!has_collective_law(cluster))
    return group_collective<N>(Collective::kAllToAll, size, links, cluster, group);
  const KernelLaw& law = cluster.device.law;
  const TierShares shares = members(cluster, group);
  double domains = 1;
  for (std::size_t i = 1; i <= shares.outermost; ++i) domains *= d(shares.ranks[i]);
  const double ranks = d(group.count);
  const bool once = question_.framework.timing.exchange_once.value > ratio(0);
  const double by_rank = once ? std::fmin(1, copies(ranks, ops.top_k)) : 1;
  const double inside = by_rank * (ranks - 1) / ranks / domains;
  const double outside = domains > 1 ? (1 - 1 / domains) * copies(domains, ops.top_k) : 0;
  const auto share = [&](const Link<N>& link, const Sourced<Ratio<>>& of_ring) {
    return link.bandwidth * leaf<N>("all-to-all over a ring's bandwidth", of_ring.value, of_ring.source);
  };
  // However well it does beside a ring, it is no faster than the link as sold.
  const auto& sold = cluster.device.scale_up.bandwidth;
  const BytesPerSecond<N> near =
      cluster.torus
          ? torus_exchange_bandwidth<N>(*cluster.torus, {group.stride, shares.ranks[0]}, links[0].bandwidth)
          : min(share(links[0], law.exchange_inside), leaf<N>("the link as sold", sold.value, sold.source));
  const Link<N>& far = links[shares.outermost];
  GroupCost<N> result;
  result.tier = result.paced_by = shares.outermost;
  result.cost.bandwidth_term = call<TokenExchange>(
      TokenExchange::In<N>{size, leaf<N>("copies inside the domain", inside, "balanced routing"),
                           leaf<N>("copies to other domains", outside, "balanced routing"), near,
                           share(far, law.exchange_outside)});
  result.paced_bandwidth_term = result.cost.bandwidth_term;
  result.cost.latency_term = call<CollectiveOverhead>(CollectiveOverhead::In<N>{
      size, leaf<N>("launch of a collective", law.collective.value, law.collective.source),
      Seconds<N>(N(0.0)), Seconds<N>(N(0.0)), Ratio<N>(N(1.0)),
      leaf<N>("launch of a send", law.send.value, law.send.source) + far.latency,
      leaf<N>("domains, of which a token crosses one", domains > 1 ? 2 : 1, "placement"), Ratio<N>(N(2.0))});
  return result;
}

template <class N>
AxisCost<N> Estimator::add_exchange(const Plan& plan, const LayerOps& ops, LayerTime<N>& layer) const {
  const Bytes<N> size =
      named("routed tokens", routed_tokens<N>(plan) * expert_rows_of_token<N>(ops) *
                                 leaf<N>("routed width", ops.routed_width, model_source_) *
                                 leaf<N>("bytes of an activation", bytes(2), "16-bit activations"));
  const auto cost = token_exchange<N>(plan, ops, size);
  layer.expert = 2.0 * cost.cost.total();  // dispatch and combine
  // Where it is overlapped, one micro-batch's exchange runs beside another's passes in either direction.
  const Seconds<N> work = (layer.forward() + layer.backward()) / Ratio<N>(N(2.0));
  layer.expert_exposed = question_.workload.kernels.overlapped_exchange
                             ? felt<N>(layer.expert, question_.framework.timing.exchange_hidden, work)
                             : layer.expert;
  return {cost, Seconds<N>(N(0.0)), value_of(size), 0};
}

/// The ring passes every rank's keys and values to all others: an all-gather in cp - 1 sends.
template <class N>
AxisCost<N> Estimator::ring_traffic(const Plan& plan, const LayerOps& ops) const {
  const Bytes<N> size = named("keys and values of the sequence",
                              micro_batch_tokens<N>(plan) *
                                  leaf<N>("key and value width", ops.kv_width / plan.tp, model_source_) *
                                  leaf<N>("bytes of an activation", bytes(2), "16-bit activations") *
                                  leaf<N>("context-parallel degree", plan.cp, "plan"));
  const auto cost = step_collective<N>(Collective::kAllGather, size, links<N>(), question_.cluster,
                                       context_group(plan), question_.cluster.device.law.collective);
  return {cost, Seconds<N>(N(0.0)), value_of(size), 0};
}

/// Returns what of the attention it may run under.
template <class N>
Seconds<N> Estimator::add_ring(const GroupCost<N>& cost, LayerTime<N>& layer) const {
  const Ratio<N> window =
      leaf<N>("share of attention it may run under", question_.framework.timing.ring_window.value,
              question_.framework.timing.ring_window.source);
  layer.context_forward = cost.cost.total();
  layer.context_backward = 2.0 * cost.cost.total();  // keys and values again, and their gradients
  const auto exposed = [&](const Seconds<N>& ring, const Seconds<N>& attention) {
    return call<ExposedTime>(ExposedTime::In<N>{ring, attention * window, contention<N>()});
  };
  layer.context_forward_exposed = exposed(layer.context_forward, layer.attention_forward);
  layer.context_backward_exposed = exposed(layer.context_backward, layer.attention_backward);
  return layer.attention_forward * window;
}

template <class N>
void Estimator::add_layer_groups(const Plan& plan, LayerTimes<N>& times) const {
  const PassRates<N> rates(question_);
  times.axes = {};
  const auto axis = [&](Axis a) -> AxisCost<N>& { return times.axes[static_cast<std::size_t>(a)]; };
  AxisCost<N>&tensor = axis(Axis::kTensor), &ring = axis(Axis::kContext);
  if (plan.tp > 1) tensor = tensor_cost<N>(plan);
  double ring_width = -1;  // of the layer that the ring's traffic is of
  for (std::size_t k = 0; k < times.kinds.size(); ++k) {
    const LayerOps& ops = kinds_.kinds[k];
    LayerTime<N>& layer = times.kinds[k];
    if (plan.tp > 1) add_tensor<N>(plan, ops, tensor.group, layer);
    if (ops.experts > 0 && plan.ep > 1) axis(Axis::kExpert) = add_exchange<N>(plan, ops, layer);
    if (plan.cp > 1 && ops.has_attention_core) {
      if (ring_width != ops.kv_width) ring = ring_traffic<N>(plan, ops);
      ring_width = ops.kv_width;
      ring.window = add_ring<N>(ring.group, layer);
    }
    add_launches<N>(ops, rates.launch, layer);
  }
}

template void Estimator::add_layer_groups<double>(const Plan&, LayerTimes<double>&) const;
template void Estimator::add_layer_groups<Traced>(const Plan&, LayerTimes<Traced>&) const;

}  // namespace shardplan
