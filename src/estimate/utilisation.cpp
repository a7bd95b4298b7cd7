// FLOP of a step by each convention in use, and who uses it.
#include "estimate/estimator.h"
#include "estimate/formulas.h"

namespace shardplan {
namespace {
double d(std::int64_t v) { return static_cast<double>(v); }
}  // namespace

Estimator::TokenWork Estimator::token_work() const {
  TokenWork token;
  const double sequence = d(question_.workload.sequence);
  for (std::size_t k = 0; k < kinds_.kinds.size(); ++k) {
    const LayerOps& ops = kinds_.kinds[k];
    const double layers = d(kinds_.count(k, 0, static_cast<std::int64_t>(question_.model.layers.size())));
    for (const Gemm& g : ops.gemms) {
      const bool expert = g.cut == GemmCut::kExpertColumn || g.cut == GemmCut::kExpertRow;
      token.layers += layers * g.in * g.out * (expert ? ops.top_k : 1.0);
    }
    const double of_a_key = layers * work::kMultiplyAdd * ops.heads * (ops.qk_dim + ops.value_dim);
    if (ops.has_attention_core) {
      const bool windowed = ops.attended > 0 && ops.attended < sequence;
      token.attention += of_a_key * (windowed ? ops.attended : sequence * work::kCausalShare);
      token.attention_full += of_a_key * sequence;
    }
    token.attention += layers * ops.linear_state_flops;
    token.attention_full += layers * ops.linear_state_flops;
  }
  token.head = d(question_.model.vocab * question_.model.hidden);
  return token;
}

double Estimator::step_tokens(const Plan& plan) const {
  return d(plan.sequences()) * d(question_.workload.sequence);
}

template <class N>
StepRates<N> Estimator::step_rates(const Plan& plan, const Seconds<N>& step) const {
  const auto count = [](const char* what, double n, const auto& source) { return leaf<N>(what, n, source); };
  const Ratio<N> tokens = count("tokens of a step", step_tokens(plan), "plan and question");
  const Ratio<N> devices = count("GPUs", d(plan.gpus()), "plan");
  const Ratio<N> matmul = count("parameters in products", token_work_.matmul(), model_source_);
  const Flops<N> attention =
      leaf<N>("attention of a token, causal", flops(token_work_.attention), model_source_);
  const Flops<N> needed = frozen()
                              ? call<FrozenModelFlops>(FrozenModelFlops::In<N>{tokens, matmul, attention})
                              : call<ModelFlops>(ModelFlops::In<N>{tokens, matmul, attention});
  const Flops<N> again =
      tokens * leaf<N>("recomputed of a token",
                       flops(recomputed_flops_per_token(plan, token_work_.layers, token_work_.attention)),
                       "plan");
  const auto& peak = question_.cluster.device.peak[static_cast<std::size_t>(question_.workload.precision())];
  const FlopsPerSecond<N> rate = leaf<N>("dense peak", peak->value, peak->source);
  const Tokens<N> made =
      leaf<N>("tokens of a step", shardplan::tokens(step_tokens(plan)), "plan and question");
  return {call<TrainingThroughput>(TrainingThroughput::In<N>{made, devices, step}),
          call<FlopsUtilisation>(FlopsUtilisation::In<N>{needed, step, devices, rate}),
          call<FlopsUtilisation>(FlopsUtilisation::In<N>{needed + again, step, devices, rate})};
}
template StepRates<double> Estimator::step_rates<double>(const Plan&, const Seconds<double>&) const;
template StepRates<Traced> Estimator::step_rates<Traced>(const Plan&, const Seconds<Traced>&) const;

double Estimator::recomputed_flops_per_token(const Plan& plan, double matmul, double attention) const {
  const auto layers = static_cast<std::int64_t>(question_.model.layers.size());
  if (plan.recompute.whole_layers()) {
    return (work::kMultiplyAdd * matmul + attention) * d(recomputed_count(plan)) / d(layers);
  }
  double again = plan.recompute.has(Module::kCoreAttention) ? attention : 0;
  for (std::size_t k = 0; plan.recompute.modules != 0 && k < kinds_.kinds.size(); ++k) {
    const LayerOps& ops = kinds_.kinds[k];
    for (const Gemm& gemm : ops.gemms) {
      if ((gemm.modules & plan.recompute.modules) == 0) continue;
      const bool expert = gemm.cut == GemmCut::kExpertColumn || gemm.cut == GemmCut::kExpertRow;
      again += d(kinds_.count(k, 0, layers)) * work::kMultiplyAdd * gemm.in * gemm.out *
               (expert ? ops.top_k : 1.0);
    }
  }
  return again;
}

std::vector<Utilisation> Estimator::utilisations(const Plan& plan, Seconds<> step) const {
  const auto& peaks = question_.cluster.device.peak;
  const auto& peak = peaks[static_cast<std::size_t>(question_.workload.precision())];
  const auto& peak_bf16 = peaks[static_cast<std::size_t>(Precision::kBf16)];
  const auto share = [&](const Flops<>& work, const FlopsPerSecond<>& rate) {
    return call<FlopsUtilisation>(FlopsUtilisation::In<double>{work, step, ratio(d(plan.gpus())), rate});
  };
  const Ratio<> tokens = ratio(step_tokens(plan));
  const Ratio<> matmul = ratio(token_work_.matmul());
  const auto again = [&](double parameters, double attention) {
    return tokens * flops(recomputed_flops_per_token(plan, parameters, attention));
  };
  std::vector<Utilisation> all;
  const Flops<> causal_attention = flops(token_work_.attention);
  const Flops<> causal =
      frozen() ? call<FrozenModelFlops>(FrozenModelFlops::In<double>{tokens, matmul, causal_attention})
               : call<ModelFlops>(ModelFlops::In<double>{tokens, matmul, causal_attention});
  const Flops<> causal_done = causal + again(token_work_.layers, token_work_.attention);
  all.push_back({"causal", "products, causal attention halved; HFU: and what is recomputed",
                 "Megatron-Bridge 25.09 and later, AutoModel, MaxText since July 2025",
                 share(causal, peak->value), share(causal_done, peak->value)});
  // What others count of a frozen base is not published.
  if (frozen()) return all;

  const double full = token_work_.attention_full;
  const Flops<> attention = flops(full);
  const Flops<> megatron = call<ModelFlops>(ModelFlops::In<double>{tokens, matmul, attention});
  all.push_back({"full-attention",
                 "products, attention not halved; HFU: recomputation by Megatron-LM's count",
                 "Megatron-LM (arXiv:2104.04473, 2205.05198), NeMo to 25.07, DGX Cloud, BLOOM, InternEvo",
                 share(megatron, peak->value), share(megatron_hardware_flops(plan), peak->value)});
  const double parameters = question_.model.declared_parameters ? *question_.model.declared_parameters
                                                                : d(count_parameters(question_.model).active);
  const Flops<> palm = call<ModelFlops>(ModelFlops::In<double>{tokens, ratio(parameters), attention});
  all.push_back({"palm",
                 "every parameter, input embedding too, attention not halved; HFU: a third more "
                 "where all layers are recomputed",
                 "PaLM (arXiv:2204.02311), torchtitan, llm-foundry, fms-fsdp", share(palm, peak->value),
                 share(palm + again(parameters, full), peak->value)});
  if (question_.workload.precision() != Precision::kBf16 && peak_bf16) {
    all.push_back({"causal-bf16-peak", "as causal, over the bf16 peak whatever the products' precision",
                   "MaxText GPU recipes", share(causal, peak_bf16->value),
                   share(causal_done, peak_bf16->value)});
  }
  return all;
}

/// Recomputed modules other than the attention core are not in the published formulas: their products are
/// added.
Flops<> Estimator::megatron_hardware_flops(const Plan& plan) const {
  const Ratio<> tokens = ratio(step_tokens(plan));
  const Flops<> attention = flops(token_work_.attention_full);
  if (plan.recompute.whole_layers() || plan.recompute.modules == 0) {
    const double share =
        plan.recompute.whole_layers()
            ? d(recomputed_count(plan)) / d(static_cast<std::int64_t>(question_.model.layers.size()))
            : 0;
    return call<MegatronHardwareFlops>(MegatronHardwareFlops::In<double>{
        tokens, ratio(token_work_.layers), ratio(token_work_.head), attention, ratio(share)});
  }
  const Ratio<> matmul = ratio(token_work_.matmul());
  const Flops<> products = tokens * flops(recomputed_flops_per_token(plan, token_work_.layers, 0));
  if (!plan.recompute.has(Module::kCoreAttention)) {
    return call<ModelFlops>(ModelFlops::In<double>{tokens, matmul, attention}) + products;
  }
  return call<SelectiveHardwareFlops>(SelectiveHardwareFlops::In<double>{tokens, matmul, attention}) +
         products;
}

}  // namespace shardplan
