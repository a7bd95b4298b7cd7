// What keeps kernels and frameworks from the speeds of the datasheet: constants of the step-time model.
//
// KernelLaw: how the rate of a kernel falls with the shape of its work, by architecture. Timing: what one
// framework adds or hides, by release. Data: catalog/timing.json; those that are fitted are written there by
// tools/fit with their uncertainty. Defaults are neutral: a device or a framework told by hand does what its
// figures say.
//
//   Question q;   // q.cluster.device.law.wave_share = 0, q.framework.timing.step = 0 s
//
// Not here: shares of the peak (catalog/device.h), the formulas that use these (cost/).
#pragma once

#include <string>

#include "catalog/source.h"

namespace shardplan {

struct KernelLaw {
  Sourced<Ratio<>> wave_share{};                  // of a product's time that whole tiles and waves stretch
  Sourced<Ratio<>> tile_columns{ratio(128), {}};  // of the widest output tile; its rows are 128
  Sourced<Ratio<>> expert_rows_half{};            // rows of an expert at half the rate
  Sourced<Ratio<>> attention_rows_half{};         // queries of a rank's sequence at half the rate
  Sourced<Ratio<>> attention_backward{ratio(1), {}};  // rate over that of the forward pass
  Sourced<Ratio<>> narrow_heads{ratio(1), {}};        // rate of heads of 64 dimensions or less
  Sourced<Ratio<>> unaligned_heads{ratio(1), {}};     // rate where the dimensions are not a multiple of 8
  Sourced<Ratio<>> older_attention{ratio(1), {}};     // rate of kernels written for the generation before
  Sourced<Ratio<>> score_passes{ratio(3), {}};        // over stored scores, forward
  Sourced<Ratio<>> cast_passes{};                     // over the inputs of low-precision products
  Sourced<Ratio<>> permute_passes{ratio(4), {}};      // over the rows of routed tokens
  Sourced<Ratio<>> window_saved{ratio(1), {}};     // of the work outside a sliding window, that kernels skip
  Sourced<Ratio<>> biased_expert_passes{};         // over biased experts' inner elements, not fused
  Sourced<Ratio<>> scan_passes{};                  // over a recurrent mixer's inner elements
  Sourced<Ratio<>> backward_passes{ratio(2), {}};  // memory traffic of a backward pass over a forward one
  Sourced<Seconds<>> collective{};                 // launch and synchronisation of one collective
  Sourced<Seconds<>> send{};                       // the same of a send between stages
  Sourced<Seconds<>> ramp{};  // of a collective of 1 MiB: grows with the square root of the size
  Sourced<Ratio<>> exchange_inside{ratio(1), {}};   // all-to-all's share of the ring's bandwidth
  Sourced<Ratio<>> exchange_outside{ratio(1), {}};  // the same between scale-up domains
};

/// Calls visit(key, field) for each constant, in the order above. Keys are those of catalog/timing.json.
template <class Law, class Visit>
void visit_law(Law& law, Visit visit) {
  visit("wave_share", law.wave_share);
  visit("tile_columns", law.tile_columns);
  visit("expert_rows_half", law.expert_rows_half);
  visit("attention_rows_half", law.attention_rows_half);
  visit("attention_backward", law.attention_backward);
  visit("narrow_heads", law.narrow_heads);
  visit("unaligned_heads", law.unaligned_heads);
  visit("older_attention", law.older_attention);
  visit("score_passes", law.score_passes);
  visit("cast_passes", law.cast_passes);
  visit("permute_passes", law.permute_passes);
  visit("window_saved", law.window_saved);
  visit("biased_expert_passes", law.biased_expert_passes);
  visit("scan_passes", law.scan_passes);
  visit("backward_passes", law.backward_passes);
  visit("collective_s", law.collective);
  visit("send_s", law.send);
  visit("ramp_s", law.ramp);
  visit("exchange_inside", law.exchange_inside);
  visit("exchange_outside", law.exchange_outside);
}

struct Timing {
  std::string name;         // "megatron-bridge"
  std::string framework;    // of catalog/frameworks.json
  std::string description;  // which releases it was seen on
  bool usual = false;       // what the framework's name alone means

  Sourced<Ratio<>> elementwise{ratio(1), {}};  // memory traffic over that of fused kernels in 16 bits
  Sourced<Ratio<>> gemm{ratio(1), {}};         // rate of matrix products over the device's
  Sourced<Ratio<>> kernels{ratio(1), {}};      // host time of a launch over the device's usual
  Sourced<Seconds<>> moe_layer{};              // routing and host synchronisation, each direction
  Sourced<Seconds<>> moe_layer_graphed{};      // the same under captured graphs
  Sourced<Ratio<>> tensor_hidden{};            // share of tensor-parallel traffic that is overlapped
  Sourced<Ratio<>> tensor_hidden_async{};      // the same with asynchronous tensor parallelism
  Sourced<Ratio<>> tensor_hidden_experts{};    // the same in models with experts
  Sourced<Ratio<>> exchange_hidden{};          // share of all-to-all that is, where the run overlaps it
  Sourced<Ratio<>> exchange_once{};  // 1: a token is sent once to each rank, whatever its experts there
  Sourced<Ratio<>> reduce_window{ratio(1), {}};  // share of the backward pass that a reduction may run under
  Sourced<Ratio<>> gather_window{ratio(1), {}};  // of a pass that a gather of parameters may run under
  Sourced<Ratio<>> ring_window{ratio(1), {}};    // of attention that context parallelism's ring may run under
  Sourced<Ratio<>> sends_hidden{};     // share of sends between stages, where stages are interleaved
  Sourced<Ratio<>> scattered_sends{};  // 1: tensor ranks send a share each, and gather it there
  Sourced<Ratio<>> reduce_slowdown{ratio(1), {}};  // of a gradient reduction, over a ring's time
  Sourced<Bytes<>> reduced_gradient{};             // of a parameter on the wire; 0: as it is kept
  Sourced<Ratio<>> older_attention{};              // 1: attention kernels of the generation before
  Sourced<Seconds<>> stage_pass{};                 // engine time of one micro-batch on one stage
  Sourced<Seconds<>> step{};                       // fixed time of a step
  Sourced<Ratio<>> jitter{};                       // spread of one rank's step, of the step
  Sourced<Seconds<>> hop{};                        // of a ring that passes a small tensor on
  Sourced<Ratio<>> hops_a_layer{};                 // tensors of a layer that go round such rings each step
};

/// Calls visit(key, field) for each constant, in the order above.
template <class T, class Visit>
void visit_timing(T& t, Visit visit) {
  visit("elementwise", t.elementwise);
  visit("gemm", t.gemm);
  visit("kernels", t.kernels);
  visit("moe_layer_s", t.moe_layer);
  visit("moe_layer_graphed_s", t.moe_layer_graphed);
  visit("tensor_hidden", t.tensor_hidden);
  visit("tensor_hidden_async", t.tensor_hidden_async);
  visit("tensor_hidden_experts", t.tensor_hidden_experts);
  visit("exchange_hidden", t.exchange_hidden);
  visit("exchange_once", t.exchange_once);
  visit("reduce_window", t.reduce_window);
  visit("gather_window", t.gather_window);
  visit("ring_window", t.ring_window);
  visit("sends_hidden", t.sends_hidden);
  visit("scattered_sends", t.scattered_sends);
  visit("reduce_slowdown", t.reduce_slowdown);
  visit("reduced_gradient_bytes", t.reduced_gradient);
  visit("older_attention", t.older_attention);
  visit("stage_pass_s", t.stage_pass);
  visit("step_s", t.step);
  visit("jitter", t.jitter);
  visit("hop_s", t.hop);
  visit("hops_a_layer", t.hops_a_layer);
}

}  // namespace shardplan
