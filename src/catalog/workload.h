// What is to be done: one training step of a batch, in a precision, with an optimizer, by a framework.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/adapters.h"
#include "catalog/device.h"
#include "catalog/plan.h"

namespace shardplan {

enum class Optimizer { kAdamW, kAdamW8bit, kAdamWBf16, kAdafactor, kLion, kMuon, kSgd };
inline constexpr int kOptimizerCount = 7;
const char* name(Optimizer optimizer);
std::optional<Optimizer> optimizer_named(std::string_view text);

/// What matrix products are computed in, and how values of less than 16 bits are scaled: by tensor (fp8), by
/// 32 (mxfp8), by 128 x 128 (fp8-blockwise), by 16 (nvfp4). Rates go by the precision alone.
enum class PrecisionRecipe { kBf16, kFp16, kFp8, kMxfp8, kFp8Blockwise, kNvfp4 };
inline constexpr int kPrecisionRecipeCount = 6;
const char* name(PrecisionRecipe recipe);
/// "fp4" is nvfp4, the only recipe of it that trains.
std::optional<PrecisionRecipe> precision_recipe_named(std::string_view text);
Precision precision_of(PrecisionRecipe recipe);

/// What the run's kernels keep for the backward pass, where implementations differ.
/// How tensor-parallel collectives run beside other work of their pass: as in the framework's measured runs,
/// cut up and asynchronous to their products, or not at all.
enum class TensorOverlap { kUsual, kAsync, kOff };
const char* name(TensorOverlap overlap);

struct Kernels {
  bool fused_attention = true;  // else the scores are stored
  bool attention_dropout = false, hidden_dropout = false;
  bool attention_mask = false;          // the loader builds one for each sequence
  bool fused_weight_gradient = true;    // accumulated by the matrix product itself
  bool gathers_expert_tokens = false;   // all tokens gathered on each expert rank, then picked
  bool compiled_loss = false;           // the loss as one compiled kernel
  bool fused_expert_activation = true;  // the router's weight applied inside the activation kernel
  /// Micro-batches whose gradient of the head's weights waits for the end of the step.
  std::int64_t deferred_head_gradients = 0;
  bool captured_graphs = false;      // launches replayed from a CUDA graph
  bool overlapped_exchange = false;  // expert all-to-all beside another micro-batch's compute
  TensorOverlap tensor_overlap = TensorOverlap::kUsual;
};

struct Training {
  std::int64_t sequence = 4096;   // tokens
  std::int64_t global_batch = 0;  // sequences; 0 = not given
  PrecisionRecipe recipe = PrecisionRecipe::kBf16;
  Precision precision() const { return precision_of(recipe); }
  Optimizer optimizer = Optimizer::kAdamW;
  double critical_batch_tokens = 0;  // 0 = not given
  Kernels kernels;
  Adapters adapters;
  /// Rows that the fullest rank's experts receive over those of balanced routing: the capacity factor where
  /// rows are padded to one, the imbalance where they are not.
  double expert_load = 1;
  bool expandable_segments = false;  // of the caching allocator
  /// Each rank holds its whole unsharded weights before ZeRO divides them.
  bool unsharded_start = false;
  /// Interleaved chunks may differ by a layer, where the framework was told to deal them so.
  bool uneven_chunks = false;
  /// Of a step's batch, beside the step before; nothing = not told, and taken to keep up.
  std::optional<Seconds<>> data_loading;
  /// Multi-token-prediction layers trained on the last stage, each as the model's last layer.
  std::int64_t mtp_layers = 0;
};

/// Bytes kept for each parameter with one optimizer.
struct StateBytes {
  Sourced<Bytes<>> weight, gradient, master, moments;
  Bytes<> optimizer() const { return master.value + moments.value; }
  Bytes<> total() const { return weight.value + gradient.value + optimizer(); }
};

/// What one framework keeps for each parameter, and what each ZeRO stage shards. Data:
/// catalog/frameworks.json.
struct Framework {
  std::string name;
  std::string description;
  std::array<StateBytes, kOptimizerCount> state;  // by optimizer
  /// At stage z: whether weights, gradients, optimizer state are divided over the data-parallel group.
  struct Sharding {
    bool allowed = false, weights = false, gradients = false, optimizer = false;
  };
  std::array<Sharding, 4> zero;
  std::optional<Source> sharding_source;  // where the stages are documented, if not with the widths

  /// Width of the weights gathered for the layers in use, where the resident shard is wider (FSDP).
  std::optional<Sourced<Bytes<>>> gathered_weight_bytes;
  /// A second gradient buffer beside gradient_bytes, kept under a condition.
  struct ExtraGradient {
    enum class When { kAlways, kBf16, kDataParallel };
    Sourced<Bytes<>> bytes;
    When when = When::kAlways;
    std::optional<int> sharded_from_stage;  // ZeRO stage that divides it; none = never divided
  };
  std::optional<ExtraGradient> extra_gradient;
  /// Under a pipeline, full sharding keeps weights gathered and gradients unreduced from one micro-batch to
  /// the next.
  std::optional<Source> pipeline_keeps_gathered;

  /// Buffers and copies that the framework has and others have not: a count of them, 0 where it has none.
  struct Buffers {
    Sourced<Bytes<>> logit{bytes(6), {}};                // alive for each logit at the loss
    std::optional<Sourced<Bytes<>>> split_logit;         // the same where tensor parallelism splits them
    std::optional<Sourced<Bytes<>>> compiled_logit;      // the same where the loss is compiled
    Sourced<Ratio<>> selective_products{};               // share of products whose output "selective" keeps
    Sourced<Ratio<>> placeholder_gradients{};            // 16-bit, one for each distinct weight shape
    Sourced<Ratio<>> sequence_gather{};                  // of a micro-batch's residual stream, kept for good
    Sourced<Ratio<>> gated_copies{};                     // further widths kept by an unfused gated activation
    Sourced<Ratio<>> gathered_column_inputs{};           // norm outputs kept gathered, not as the shard
    Sourced<Ratio<>> vocabulary_multiple{ratio(1), {}};  // the table is padded to it times tp
    /// Of the matrix library and of the framework itself, on GPUs before Hopper and since.
    struct Workspaces {
      Sourced<Bytes<>> library, engine;
    };
    Workspaces before_hopper, since_hopper;
    Sourced<Ratio<>> grouped_workspaces{};  // further ones of the framework's where there are experts
    Sourced<Ratio<>> stage_outputs{};       // of a micro-batch in flight, kept beside the next stage's input
    Sourced<Ratio<>> received{};            // receive buffers of each of a step's micro-batches
    Sourced<Bytes<>> step{};                // copies at the optimizer step, for each parameter of the shard
    Sourced<Bytes<>> reduce_bucket{};       // flat buffer of a gradient reduction
    /// Elements that a sharded flat buffer is padded to a multiple of, and the same for each of its shards.
    Sourced<Ratio<>> bucket_multiple{ratio(1), {}}, shard_multiple{ratio(1), {}};
    /// Of products in less than 16 bits, their scales included; 0 = none beside the 16-bit tensors.
    struct Quantized {
      Sourced<Bytes<>> weight_copies{};  // of each parameter of a linear layer, kept for good
      Sourced<Bytes<>> product_input{};  // of an element that a product keeps of its input
    };
    std::array<Quantized, kPrecisionRecipeCount> quantized{};  // by recipe
  };
  Buffers buffers;

  /// What the framework can keep in the host's memory, where it can at all.
  struct HostOffload {
    Sourced<Bytes<>> gradient;  // on the host, for each parameter that is updated there
    /// ZeRO stage from which the device keeps no gradients; none = it always keeps them.
    std::optional<int> gradients_leave_from;
    bool parameters = false;            // at stage 3
    bool only_with_parameters = false;  // the optimizer goes where the parameters are
  };
  std::optional<HostOffload> offload;

  /// What a search tries of the framework; a person may tell it more.
  struct Engine {
    std::vector<Schedule> schedules{Schedule::k1F1B, Schedule::kInterleaved};
    Source schedules_source;
    std::vector<PrecisionRecipe> precisions;  // that it trains in; empty = in any
    Source precisions_source;
    std::optional<Source> shard_groups;       // ZeRO over groups of the replicas
    int shard_groups_from = 1;                // of these stages
    std::optional<Source> recomputed_layers;  // the first N layers of each chunk recomputed, the others kept
    /// The orders in which it numbers ranks; the usual one is among them.
    std::vector<RankOrder> rank_orders{RankOrder{}};
    std::optional<Source> rank_orders_source;
    /// Where the pipeline is not outermost, experts must have as many replicas as all else.
    bool rank_orders_same_replicas = false;
    // The rest in the whole space only (Question::whole_space).
    std::optional<Source> recomputed_groups;   // layers recomputed in groups of N that keep one input
    std::optional<Source> recomputed_modules;  // any of a layer's modules recomputed
    std::optional<Source> whole_sequences;     // tensor parallelism without sequence parallelism, unless
                                               // there are experts
    std::optional<Source> uneven_ends;         // layers told of the first and of the last chunk, the chunks
                                               // between them alike
  };
  Engine engine;

  /// What the caching allocator and the driver count beyond the tensors. One for all: PyTorch's.
  struct Allocator {
    Sourced<Ratio<>> slack{};             // of the allocated peak: cached blocks that fit no later tensor
    Sourced<Ratio<>> expandable_slack{};  // the same with expandable segments
    Sourced<Bytes<>> context{};           // of the device context, which only the driver counts
    Sourced<Bytes<>> communication{};     // of the communicators, where there are several ranks
  };
  Allocator allocator;

  /// The host beside the devices. One for all.
  struct Host {
    Sourced<PerSecond<>> adam{};  // parameters that a node's processors update in a second
  };
  Host host;

  /// Of the release in use; neutral where none is known.
  Timing timing;
};

}  // namespace shardplan
