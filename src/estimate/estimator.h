// The one composition: question and plan to estimate, or to the violated constraint. Cheap memory check
// first.
//
//   Estimator estimator(question);
//   Outcome outcome = estimator.estimate(plan);                         // numbers, as fast as they come
//   auto memory = estimator.stage_memory<Traced>(plan, 0);              // the same arithmetic with its
//   explanation
//
// Prepared once for a question: distinct layers, links, constants. No allocation for each plan when N is
// double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/group_collectives.h"
#include "cost/pipeline_path.h"
#include "estimate/estimate.h"
#include "estimate/tensors.h"
#include "graph/layer_ops.h"
#include "graph/pipeline_shape.h"
#include "graph/stages.h"

namespace shardplan {

class PlanEvaluator;
struct ChunkWork;
struct StepTimeline;

class Estimator {
 public:
  explicit Estimator(const Question& question);
  Estimator(Question&&) = delete;

  const Question& question() const { return question_; }
  const Space& space() const { return space_; }

  /// Legal, fits, and how long it takes; or the first constraint that fails.
  Outcome estimate(const Plan& plan) const;
  /// Memory of the fullest stage without asking whether it fits. `stage` says which.
  template <class N>
  MemoryBreakdown<N> fullest_memory(const Plan& plan, int& stage) const;
  template <class N>
  MemoryBreakdown<N> stage_memory(const Plan& plan, int stage) const;
  /// What a rank of a stage keeps in the host's memory.
  template <class N>
  HostMemory<N> host_memory(const Plan& plan, int stage) const;
  /// Ranks whose devices hang on one host.
  std::int64_t ranks_of_host() const;
  /// What each counter shows of a stage's memory.
  template <class N>
  MemoryPeaks<N> memory_peaks(const Plan& plan, int stage, const MemoryBreakdown<N>& memory) const;
  /// All stages of a plan, for people; a search asks for the fullest only.
  MemoryAccount memory_account(const Plan& plan) const;
  /// The tensors of a stage, each once with how many are alive at the peak.
  std::vector<Tensor> tensors(const Plan& plan, int stage) const;
  /// What one layer of the model's first kind keeps for one micro-batch, under each activation model.
  template <class N>
  Bytes<N> layer_activations(const Plan& plan, std::size_t kind, ActivationModel model) const;
  template <class N>
  TimeBreakdown<N> time(const Plan& plan) const;
  /// The step operation by operation (estimate/step_timeline.h), for people; a search takes the closed forms.
  StepTimeline step_timeline(const Plan& plan) const;
  /// What a step of that length comes to.
  template <class N>
  StepRates<N> step_rates(const Plan& plan, const Seconds<N>& step) const;
  /// Step, utilisation and throughput from a time breakdown; fills an Estimate that is known to fit.
  Estimate complete(const Plan& plan, const MemoryBreakdown<>& memory, int stage) const;
  /// A step's MFU and HFU under each convention in use, that of Estimate first; for people.
  std::vector<Utilisation> utilisations(const Plan& plan, Seconds<> step) const;

  /// State of the whole model, and the floor 16 Psi / N against usable memory.
  template <class N>
  Bytes<N> state_total() const;
  template <class N>
  Bytes<N> usable() const;
  template <class N>
  Bytes<N> state_floor(const Bytes<N>& state) const;
  template <class N>
  Ratio<N> minimum_gpus(const Bytes<N>& state, const Bytes<N>& usable_bytes) const;
  double parameters() const { return parameters_; }
  /// Of the whole model: all of them, or the adapters.
  double trained_parameters() const;
  Bytes<> bytes_per_parameter() const;
  Bytes<> bytes_off_device() const;
  /// The memory constraint that a breakdown breaks, if any.
  static std::optional<Constraint> broken_memory(const MemoryBreakdown<>& memory, Bytes<> usable_bytes);
  std::optional<Constraint> broken_memory(const MemoryBreakdown<>& memory) const {
    return broken_memory(memory, usable<double>());
  }
  /// The same of a plan with that breakdown, the host's memory included where it is known.
  std::optional<Constraint> broken_memory(const Plan& plan, const MemoryBreakdown<>& memory,
                                          Bytes<> usable_bytes) const;
  /// What a node whose ranks all hold the stage that offloads most keeps in its host's memory.
  Bytes<> host_need(const Plan& plan) const;

  const LayerKinds& kinds() const { return kinds_; }

 private:
  friend class PlanEvaluator;
  struct StageTensors;
  enum class Norm { kMixer, kMlp, kFinal };
  template <class N>
  struct LayerTime;
  template <class N>
  struct PassRates;
  template <class N>
  struct Rates;
  /// One micro-batch on the average stage, whole and split as the schedules split it.
  template <class N>
  struct StagePasses {
    Seconds<N> all{}, forward{}, weight{};
  };
  // Parts of a plan's account, each of which fewer axes decide than the whole (estimate/plan_parts.h).
  template <class N>
  struct LayerTimes;
  template <class N>
  struct StageSends;
  template <class N>
  struct StageTimes;
  struct StageLoad;
  template <class N>
  struct ReplicaTraffic;
  template <class N>
  struct LayerBytes;
  template <class N>
  struct StageBytes;
  template <class N>
  struct StageState;

  bool keeps_extra_gradient(const Framework::ExtraGradient& extra, const Plan& plan) const;
  /// Width of a weight as it is gathered: FSDP keeps fp32 shards and gathers 16 bits.
  const Sourced<Bytes<>>& gathered_weight() const;
  double stage_parameters(const Plan& plan, int stage, double& expert) const;
  /// Kind of the model's last layer, which prediction layers repeat.
  std::size_t last_kind() const { return static_cast<std::size_t>(kinds_.kind_of_layer.back()); }
  /// Prediction layers of a kind, all on the last stage.
  std::int64_t prediction_layers(std::size_t kind) const {
    return question_.workload.mtp_layers > 0 && kind == last_kind() ? question_.workload.mtp_layers : 0;
  }
  void add_prediction_layers(const Plan& plan, bool first, double& dense, double& expert) const;
  /// Activations and logits that prediction layers keep, gradients of the head that wait: of the last stage.
  template <class N>
  void add_head_extras(const Plan& plan, const LayerBytes<N>& layers, StageBytes<N>& stage) const;

  /// Those of a stage that have a gradient: all of them, or the adapters.
  double trained_parameters(const Plan& plan, int stage, double& expert) const;

  // Adapters on a frozen base (adapters.cpp).
  bool frozen() const { return question_.workload.adapters.rank > 0; }
  const Framework::Buffers::Quantized& quantized() const {
    return question_.framework.buffers.quantized[static_cast<std::size_t>(question_.workload.recipe)];
  }
  /// Whether a product needs its input in the backward pass: its weight is trained, or an adapter's is.
  bool keeps_input(std::uint8_t targets) const {
    return !frozen() || (question_.workload.adapters.targets & targets) != 0;
  }
  /// Adapted products of one layer: their widths on a rank, and how many of them a token meets.
  struct AdaptedWidths {
    double dense = 0, expert = 0, met = 0;
  };
  AdaptedWidths adapted_widths(const Plan& plan, const LayerOps& ops) const;
  /// Adapters of a layer, those of all experts as one.
  double adapter_count(const LayerOps& ops) const;
  template <class N>
  Bytes<N> adapter_activations(const Plan& plan, const LayerOps& ops) const;
  /// Width of a frozen linear weight.
  template <class N>
  Bytes<N> base_width() const;
  template <class N>
  Bytes<N> frozen_weights(const Plan& plan, int stage) const;
  /// The largest base weight of a layer, in 16 bits, where it is kept in fewer.
  template <class N>
  Bytes<N> widened_weight(const Plan& plan, const LayerOps& ops) const;
  template <class N>
  Bytes<N> frozen_state() const;

  /// The bytes of a plan's parts, and the stage that they make.
  template <class N>
  void fill_layer_bytes(const Plan& plan, LayerBytes<N>& layers) const;
  template <class N>
  StageBytes<N> stage_bytes(const Plan& plan, int stage, const LayerBytes<N>& layers) const;
  template <class N>
  StageState<N> stage_state(const Plan& plan, int stage) const;
  /// State, activations and logits of a stage, before anything leaves for the host.
  template <class N>
  static MemoryBreakdown<N> kept_memory(const StageBytes<N>& work, const StageState<N>& state);
  template <class N>
  MemoryBreakdown<N> stage_memory(const Plan& plan, int stage, const LayerBytes<N>& layers,
                                  const StageBytes<N>& work, const StageState<N>& state) const;

  // The host's memory (host.cpp).
  /// Moves to the host what the plan keeps there.
  template <class N>
  HostMemory<N> offload(const Plan& plan, int stage, const LayerBytes<N>& layers,
                        MemoryBreakdown<N>& memory) const;
  template <class N>
  Bytes<N> largest_layer_gradients(const Plan& plan) const;
  template <class N>
  void add_offload(const Plan& plan, const ReplicaTraffic<N>& traffic, const Seconds<N>& forward,
                   const Seconds<N>& backward, TimeBreakdown<N>& time) const;
  /// Of the parameters that a rank of the stage trains, its share where they are sharded.
  static double trained_shard(const Plan& plan, const StageLoad& load, bool sharded);
  template <class N>
  Ratio<N> padded(const Plan& plan, const Ratio<N>& parameters, std::int64_t shards) const;
  template <class N>
  void add_state(const Plan& plan, int stage, MemoryBreakdown<N>& memory) const;
  template <class N>
  void add_state(const Plan& plan, const Ratio<N>& dense, const Ratio<N>& expert,
                 MemoryBreakdown<N>& memory) const;
  template <class N>
  Bytes<N> stage_edges(const Plan& plan, int stage) const;
  template <class N>
  Bytes<N> pipeline_buffers(const Plan& plan, int stage) const;
  /// Copies and buckets at the optimizer step; zero where the framework makes none.
  template <class N>
  Bytes<N> step_transient(const Plan& plan, int stage) const;
  /// A rank's weights before they are sharded.
  template <class N>
  Bytes<N> unsharded_start(const Plan& plan, int stage) const;
  template <class N>
  Bytes<N> live_activations(const Plan& plan, int stage, const LayerBytes<N>& layers) const;
  template <class N, class Visit>
  void each_live_chunk(const Plan& plan, int stage, const Visit& visit) const;
  /// Layers of each kind that are on the stage, each as often as micro-batches have it alive.
  void live_layers(const Plan& plan, int stage, std::vector<double>& layers) const;
  /// An element of what a matrix product keeps of its input; the head's products are never quantized.
  template <class N>
  Bytes<N> product_input(bool in_layer) const;
  /// Parameters of the linear layers on a rank.
  double linear_parameters(const Plan& plan, int stage) const;
  template <class N>
  Bytes<N> norm_activations(const Plan& plan, Norm norm) const;
  template <class N>
  Bytes<N> attention_activations(const Plan& plan, const LayerOps& ops) const;
  template <class N>
  Bytes<N> chunk_bytes(const Plan& plan, std::int64_t chunk, const LayerBytes<N>& layers) const;
  /// Alive for each logit at the loss.
  const Sourced<Bytes<>>& logit_bytes(const Plan& plan) const;
  template <class N>
  Bytes<N> loss_bytes(const Plan& plan) const;
  template <class N>
  Bytes<N> layer_backward(const Plan& plan, const LayerOps& ops) const;
  /// What one layer's backward pass brings back of that which was not kept.
  template <class N>
  Bytes<N> recomputed_bytes(const Plan& plan, std::size_t kind, const Bytes<N>& kept) const;
  /// Whether parts of every layer come back in its backward pass, beyond the scores.
  bool brings_modules_back(const Plan& plan) const;
  template <class N>
  Ratio<N> chunks_alive(const Plan& plan, int stage, int piece) const;
  /// Whether full sharding gathers layers as they are used.
  bool gathers_layers(const Plan& plan) const;
  template <class N>
  Bytes<N> layer_inputs(const Plan& plan) const;
  template <class N>
  Bytes<N> gathered_layer(const Plan& plan, const LayerOps& ops) const;
  /// Whether "selective" is by operation, not by module: torchtitan's.
  bool keeps_selective_products(const Plan& plan) const;
  template <class N>
  Bytes<N> gathered_root(const Plan& plan, int stage) const;
  template <class N>
  Bytes<N> gathered_weights(const Plan& plan, int stage) const;
  template <class N>
  Bytes<N> backward_transient(const Plan& plan, int stage, const LayerBytes<N>& layers) const;
  template <class N>
  Bytes<N> micro_batch_buffers(const Plan& plan) const;
  template <class N>
  Bytes<N> stage_buffers(const Plan& plan, int stage) const;
  /// Keys that one query meets on its rank.
  double attended_keys(const Plan& plan, const LayerOps& ops) const;
  /// No published model has a rank with more.
  static constexpr std::size_t kWeightShapesMax = 64;
  /// Elements of the distinct shapes of linear weights on the rank.
  double distinct_weight_elements(const Plan& plan, int stage) const;
  /// Rows of the embedding table, padded as the framework does.
  double vocabulary(const Plan& plan) const;
  double table_parameters(const Plan& plan) const;
  template <class N>
  Ratio<N> micro_batch_tokens(const Plan& plan) const;
  template <class N>
  Ratio<N> routed_tokens(const Plan& plan) const;
  /// Expert rows that the fullest rank receives for each routed token.
  template <class N>
  Ratio<N> expert_rows_of_token(const LayerOps& ops) const;
  template <class N>
  Seconds<N> gemm_time(const Rates<N>& rates, const typename Rates<N>::Products& products, double groups,
                       const Ratio<N>& m, const Ratio<N>& n, const Ratio<N>& k) const;
  template <class N>
  Seconds<N> fused_attention(const Plan& plan, const LayerOps& ops, const Rates<N>& rates) const;
  template <class N>
  Seconds<N> stored_attention(const Plan& plan, const LayerOps& ops, const Rates<N>& rates) const;
  template <class N>
  Ratio<N> inner_elements(const Plan& plan, const LayerOps& ops) const;
  template <class N>
  Seconds<N> cast_time(const Plan& plan, const LayerOps& ops, const Rates<N>& rates) const;
  template <class N>
  void add_gemms(const Plan& plan, const LayerOps& ops, const Rates<N>& rates, LayerTime<N>& layer) const;
  template <class N>
  void add_adapters(const Plan& plan, const Gemm& gemm, const Rates<N>& rates, double groups,
                    const Ratio<N>& rows, LayerTime<N>& layer) const;
  template <class N>
  void add_attention(const Plan& plan, const LayerOps& ops, const Rates<N>& rates, LayerTime<N>& layer) const;
  template <class N>
  void add_memory_bound(const Plan& plan, const LayerOps& ops, const Rates<N>& rates,
                        LayerTime<N>& layer) const;
  template <class N>
  AxisCost<N> tensor_cost(const Plan& plan) const;
  template <class N>
  void add_tensor(const Plan& plan, const LayerOps& ops, const GroupCost<N>& cost, LayerTime<N>& layer) const;
  template <class N>
  GroupCost<N> token_exchange(const Plan& plan, const LayerOps& ops, const Bytes<N>& size) const;
  template <class N>
  AxisCost<N> add_exchange(const Plan& plan, const LayerOps& ops, LayerTime<N>& layer) const;
  template <class N>
  AxisCost<N> ring_traffic(const Plan& plan, const LayerOps& ops) const;
  template <class N>
  Seconds<N> add_ring(const GroupCost<N>& cost, LayerTime<N>& layer) const;
  template <class N>
  void add_launches(const LayerOps& ops, const Seconds<N>& launch, LayerTime<N>& layer) const;
  template <class N>
  LayerTime<N> layer_kernels(const Plan& plan, const LayerOps& ops, const Rates<N>& rates) const;
  template <class N>
  static void add_layer_terms(const LayerTime<N>& l, const Ratio<N>& n, const Ratio<N>& passes,
                              TimeBreakdown<N>& time);
  template <class N>
  void logits_time(const Plan& plan, const Rates<N>& rates, Seconds<N>& forward, Seconds<N>& backward,
                   Seconds<N>& weight) const;
  void add_layers(const LayerTime<double>& l, double layers, double recomputed, ChunkWork& chunk) const;
  std::vector<ChunkWork> chunk_works(const Plan& plan) const;
  template <class N>
  Seconds<N> small_rings(const Plan& plan) const;
  template <class N>
  Seconds<N> optimizer_time(const Plan& plan, double updated) const;
  template <class N>
  void add_overheads(const Plan& plan, TimeBreakdown<N>& time) const;
  /// `each` bytes of dense and of expert parameters, over a group of their own.
  template <class N>
  GroupCost<N> replica_collective(const Plan& plan, Collective kind, const Bytes<N>& each, double dense_count,
                                  const Group& dense_group, double expert_count,
                                  const Group& expert_ranks) const;
  const Sourced<Bytes<>>& reduced_gradient() const;
  template <class N>
  GroupCost<N> gradients_reduced(const Plan& plan, const StageLoad& load, bool sharded) const;
  template <class N>
  GroupCost<N> weights_gathered(const Plan& plan, const StageLoad& load) const;
  template <class N>
  void add_data_parallel(const Plan& plan, const ReplicaTraffic<N>& traffic, const Seconds<N>& forward,
                         const Seconds<N>& backward, TimeBreakdown<N>& time) const;
  template <class N>
  void add_chunk_times(const PipelineShape& shape, std::size_t kind, const LayerTime<N>& l, bool splits,
                       std::vector<ChunkTimes>& chunks) const;
  template <class N>
  void add_pipeline(const Plan& plan, const StageSends<N>& sends, const StagePasses<N>& average,
                    StageTimes<N>& stages) const;
  template <class N>
  Seconds<N> split_bubble(const Plan& plan, const StagePasses<N>& average) const;
  template <class N>
  Seconds<N> twin_reduction(const Plan& plan, const StageLoad& load) const;
  template <class N>
  Seconds<N> recompute_time(const Plan& plan, const LayerOps& ops, const LayerTime<N>& layer) const;
  template <class N>
  const std::vector<Link<N>>& links() const;
  template <class N>
  Ratio<N> contention() const {
    const auto& share = question_.cluster.device.efficiency.contention;
    return leaf<N>("contention", share.value, share.source);
  }
  /// The times of a plan's parts, and the step that they make.
  template <class N>
  void fill_layer_times(const Plan& plan, LayerTimes<N>& times) const {
    fill_layer_kernels<N>(plan, times);
    add_layer_groups<N>(plan, times);
  }
  /// Of them what no order of the ranks changes; then what groups send, and the waits for launches.
  template <class N>
  void fill_layer_kernels(const Plan& plan, LayerTimes<N>& times) const;
  template <class N>
  void add_layer_groups(const Plan& plan, LayerTimes<N>& times) const;
  template <class N>
  StageSends<N> stage_sends(const Plan& plan) const;
  template <class N>
  void fill_stage_times(const Plan& plan, const PipelineShape& shape, const LayerTimes<N>& layers,
                        const StageSends<N>& sends, StageTimes<N>& stages) const;
  StageLoad stage_load(const Plan& plan, int stage) const;
  /// Of stages of which one of each that are alike is among these.
  StageLoad heaviest_stage(const Plan& plan, const std::vector<int>& stages) const;
  template <class N>
  ReplicaTraffic<N> replica_traffic(const Plan& plan, const StageLoad& load) const;
  template <class N>
  TimeBreakdown<N> step_time(const Plan& plan, const StageTimes<N>& stages,
                             const ReplicaTraffic<N>& traffic) const;
  /// The layers and the head alone, as if the stages shared them evenly and nothing else took time.
  Seconds<> least_step(const Plan& plan, const LayerTimes<double>& layers) const;
  /// Layers of the model that are run again whole.
  std::int64_t recomputed_count(const Plan& plan) const;
  double recomputed_share(const Plan& plan, std::size_t kind) const;
  double recomputed_flops_per_token(const Plan& plan, double matmul, double attention) const;
  /// What the model does for one token, forward.
  struct TokenWork {
    double layers = 0, head = 0;  // parameters in matrix products, experts at top-k
    double attention = 0;         // FLOP of attention cores and scans; a causal query meets half of the keys
    double attention_full = 0;    // the same with every query meeting every key
    double matmul() const { return layers + head; }
  };
  TokenWork token_work() const;
  double step_tokens(const Plan& plan) const;
  Flops<> megatron_hardware_flops(const Plan& plan) const;

  const Question& question_;
  Space space_;
  LayerKinds kinds_;
  TokenWork token_work_;
  std::vector<Link<double>> links_;
  std::vector<Link<Traced>> traced_links_;
  double parameters_ = 0;
  // First and last stage's parameters outside layers and tables, of the whole model.
  double first_edge_whole_ = 0, last_edge_whole_ = 0;
  bool has_table_ = false;
  std::string model_source_;
};

}  // namespace shardplan
