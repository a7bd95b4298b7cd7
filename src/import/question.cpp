#include "import/question.h"

#include <algorithm>
#include <array>

#include "import/cluster_build.h"
#include "import/defaults.h"
#include "import/flag_reader.h"
#include "import/question_options.h"
#include "import/question_plan.h"
#include "import/question_workload.h"
#include "units/format.h"

namespace shardplan {
namespace {

using Spec = QuestionSpec;

constexpr std::array kFlags{
    QuestionFlag{"--model", &Spec::model, "catalog name, hub id, config.json or its folder"},
    QuestionFlag{"--preset", &Spec::preset, "catalog name of a model"},
    QuestionFlag{"--params", &Spec::params, "parameters, billions (model by hand)"},
    QuestionFlag{"--layers", &Spec::layers, "layers (model by hand)"},
    QuestionFlag{"--hidden", &Spec::hidden, "hidden size (model by hand)"},
    QuestionFlag{"--heads", &Spec::heads, "attention heads (model by hand)"},
    QuestionFlag{"--kv-heads", &Spec::kv_heads, "key-value heads (model by hand)"},
    QuestionFlag{"--ffn", &Spec::ffn, "MLP width (model by hand)"},
    QuestionFlag{"--vocab", &Spec::vocab, "vocabulary (model by hand)"},
    QuestionFlag{"--head-dim", &Spec::head_dim, "dimension of a head (model by hand)"},
    QuestionFlag{"--cluster", &Spec::cluster, "catalog name or file of a cluster"},
    QuestionFlag{"--gpu", &Spec::gpu, "catalog name of a GPU; its usual node and fabric"},
    QuestionFlag{"--gpus", &Spec::gpus, "number of GPUs"},
    QuestionFlag{"--gpus-per-node", &Spec::gpus_per_node, "GPUs that share a node's own link"},
    QuestionFlag{"--topology", &Spec::topology, "chips of a TPU slice along each axis: 4x4x8"},
    QuestionFlag{"--hbm", &Spec::hbm, "memory of a GPU, GiB"},
    QuestionFlag{"--hbm-bw", &Spec::hbm_bw, "memory bandwidth of a GPU, GB/s"},
    QuestionFlag{"--peak-tflops", &Spec::peak_tflops, "dense peak of a GPU in the precision, TFLOP/s"},
    QuestionFlag{"--bw-intra", &Spec::bw_intra, "bandwidth inside a node, GB/s per GPU"},
    QuestionFlag{"--bw-inter", &Spec::bw_inter, "bandwidth between nodes, GB/s per GPU"},
    QuestionFlag{"--latency-intra", &Spec::latency_intra, "latency inside a node, us"},
    QuestionFlag{"--latency-inter", &Spec::latency_inter, "latency between nodes, us"},
    QuestionFlag{"--reserve", &Spec::reserve, "memory held back on each GPU, GiB"},
    QuestionFlag{"--host-memory", &Spec::host_memory, "memory of a node's host that may be filled, GiB"},
    QuestionFlag{"--mtbf-gpu-hours", &Spec::mtbf_gpu_hours,
                 "mean time between interruptions of a run that one GPU brings with it, hours"},
    QuestionFlag{"--restart-time", &Spec::restart_time,
                 "s from an interruption until steps go on, or with a unit: 10min"},
    QuestionFlag{"--checkpoint-bandwidth", &Spec::checkpoint_bandwidth,
                 "what writes a checkpoint while the run waits, GB/s of all GPUs together"},
    QuestionFlag{"--seq", &Spec::seq, "sequence, tokens"},
    QuestionFlag{"--global-batch", &Spec::global_batch, "batch of a step: sequences, or tokens as 4Mtok"},
    QuestionFlag{
        "--precision", &Spec::precision,
        "precision of matrix products: bf16, fp16, fp8 (scaled by tensor), mxfp8, fp8-blockwise or nvfp4; which copies "
        "are kept is the framework's; for plan also several, joined by commas, or any"},
    QuestionFlag{"--optimizer", &Spec::optimizer,
                 "adamw, adamw-8bit, adamw-bf16, adafactor, lion, muon, sgd"},
    QuestionFlag{"--framework", &Spec::framework, "generic, megatron, torchtitan, deepspeed, fsdp, nanotron"},
    QuestionFlag{"--critical-batch", &Spec::critical_batch, "critical batch, tokens as 2Mtok"},
    QuestionFlag{"--activations", &Spec::activation_model, "paper (closed forms) or ops (op by op)"},
    QuestionFlag{"--dp", &Spec::dp, "data-parallel replicas"},
    QuestionFlag{"--tp", &Spec::tp, "tensor parallelism"},
    QuestionFlag{"--pp", &Spec::pp, "pipeline stages"},
    QuestionFlag{"--cp", &Spec::cp, "context parallelism"},
    QuestionFlag{"--ep", &Spec::ep, "expert parallelism"},
    QuestionFlag{"--etp", &Spec::etp, "tensor parallelism inside an expert"},
    QuestionFlag{"--zero", &Spec::zero, "ZeRO stage, 0 to 3"},
    QuestionFlag{"--micro-batch", &Spec::micro_batch, "sequences of one micro-batch"},
    QuestionFlag{"--interleave", &Spec::interleave, "model chunks a pipeline rank holds"},
    QuestionFlag{"--first-layers", &Spec::first_layers,
                 "layers of the pipeline's first chunk, where it has not as many as the others"},
    QuestionFlag{"--last-layers", &Spec::last_layers, "the same of its last chunk"},
    QuestionFlag{
        "--schedule", &Spec::schedule,
        "gpipe, 1f1b, interleaved, zb-h1, zb-v, dualpipe; for plan also several, joined by commas, or any"},
    QuestionFlag{"--recompute", &Spec::recompute,
                 "none, selective, full, full:N, uniform:N, or modules joined by commas"},
    QuestionFlag{"--sp", &Spec::sp, "sequence parallelism: on or off"},
    QuestionFlag{"--rank-order", &Spec::rank_order,
                 "axes by which ranks are numbered, the innermost first: tp-cp-dp-pp"},
    QuestionFlag{"--shard-group", &Spec::shard_group,
                 "ranks that ZeRO shards over, replicated by the others (hybrid sharding)"},
    QuestionFlag{"--offload", &Spec::offload,
                 "kept in the host's memory: optimizer, params, activations, joined by commas"},
    QuestionFlag{"--lora", &Spec::lora,
                 "train adapters only: RANK, or RANK:q_proj,v_proj,...; attention, mlp, all-linear"},
    QuestionFlag{"--quantized-base", &Spec::quantized_base,
                 "frozen linear layers of --lora (QLoRA): nf4, nf4-dq (double quantization)"},
    QuestionFlag{"--expert-imbalance", &Spec::expert_imbalance,
                 "rows of the fullest rank's experts over those of balanced routing"},
    QuestionFlag{"--capacity-factor", &Spec::capacity_factor,
                 "rows that every expert is padded to over those of balanced routing"},
    QuestionFlag{"--expandable-segments", &Spec::expandable_segments,
                 "of PyTorch's allocator: on or off; changes the reserved peak only"},
    QuestionFlag{"--unsharded-start", &Spec::unsharded_start,
                 "each rank holds its whole weights before ZeRO divides them: on or off"},
    QuestionFlag{"--data-loading", &Spec::data_loading,
                 "s that reading a step's batch takes, beside the step before, or with a unit: 400ms"},
    QuestionFlag{"--tp-overlap", &Spec::tp_overlap, "of tensor-parallel traffic: usual, async, off"},
};

void read_framework(FlagReader& flags, const Catalog& catalog, Question& q) {
  const auto& told = flags.text(&Spec::framework);
  const auto found = find_framework(catalog, told.value_or(kDefaultFramework), "--framework");
  if (!found) return flags.fail(found.error());
  q.framework = **found;
  if (const std::string beyond = beyond_framework(q); !beyond.empty()) q.notes.push_back(beyond);
  const StateBytes& state = q.framework.state[static_cast<std::size_t>(q.workload.optimizer)];
  if (!told) {
    q.assumed.push_back("framework " + q.framework.name + ": " + format_number(state.total().raw()) +
                        " bytes a parameter");
  }
  if (q.fixed.zero_stage && !q.framework.zero[static_cast<std::size_t>(*q.fixed.zero_stage)].allowed) {
    std::string stages;
    for (std::size_t z = 0; z < q.framework.zero.size(); ++z) {
      if (q.framework.zero[z].allowed) stages += (stages.empty() ? "one of " : ", ") + std::to_string(z);
    }
    flags.fail(&Spec::zero, "unsupported",
               q.framework.name + " has no ZeRO stage " + std::to_string(*q.fixed.zero_stage), stages);
  }
}

std::optional<Error> too_many_layer_kinds(const Model& model) {
  std::vector<const Layer*> distinct;
  for (const Layer& layer : model.layers) {
    if (std::none_of(distinct.begin(), distinct.end(), [&](const Layer* l) { return *l == layer; }))
      distinct.push_back(&layer);
  }
  if (distinct.size() <= kDistinctLayersMax) return std::nullopt;
  return Error{"unsupported", model.name + " has " + std::to_string(distinct.size()) + " different layers",
               "--model", "at most " + std::to_string(kDistinctLayersMax) + " different layers", ""};
}

/// The told degrees must fit into the GPUs, whatever else is searched.
std::optional<Error> degrees_that_do_not_fit(const Question& q) {
  std::int64_t product = 1;
  std::string told, flags = "--gpus";
  for (const auto& [axis, degree] :
       {std::pair{"dp", q.fixed.dp}, {"tp", q.fixed.tp}, {"pp", q.fixed.pp}, {"cp", q.fixed.cp}}) {
    if (!degree) continue;
    product *= *degree;
    told += (told.empty() ? "" : " x ") + std::string(axis) + " " + std::to_string(*degree);
    flags += std::string(", --") + axis;
    if (product > kGpusMax) break;
  }
  const bool all = q.fixed.dp && q.fixed.tp && q.fixed.pp && q.fixed.cp;
  if (all && product != q.cluster.gpus) {
    return Error{"not_divisible", told + " is not " + counted(q.cluster.gpus, "GPU"), flags,
                 std::to_string(product) + " GPUs", ""};
  }
  if (q.cluster.gpus % product == 0) return std::nullopt;
  return Error{"not_divisible", told + " does not divide " + counted(q.cluster.gpus, "GPU"), flags,
               "GPUs that are a multiple of " + std::to_string(product), ""};
}

}  // namespace

std::span<const QuestionFlag> question_flags() { return kFlags; }

Result<Question> build_question(const QuestionSpec& spec, const Catalog& catalog) {
  Question q;
  q.risk = &catalog.risk;
  Result<Model> model = build_model(spec, catalog, q.notes);
  if (!model) return model.error();
  q.model = std::move(model).value();
  if (auto error = too_many_layer_kinds(q.model)) return *error;
  Result<Cluster> cluster = build_cluster(spec, catalog, q.notes);
  if (!cluster) return cluster.error();
  q.cluster = std::move(cluster).value();
  Result<FixedAxes> axes = parse_axes(spec);
  if (!axes) return axes.error();
  q.fixed = *axes;
  if (auto error = degrees_that_do_not_fit(q)) return *error;
  FlagReader flags(spec);
  read_workload(flags, spec.purpose, q);
  read_framework(flags, catalog, q);
  if (spec.purpose == Purpose::kPlan || spec.purpose == Purpose::kSizes) take_schedules(flags, q);
  check_recompute(flags, q);
  check_ends(flags, q);
  check_offload(flags, q);
  note_foreign(q);
  read_adapters(flags, catalog, q);
  read_expert_load(flags, q);
  read_allocation(flags, q);
  read_data_loading(flags, q);
  read_tensor_overlap(flags, q);
  read_activation_model(flags, spec.purpose, q);
  if (flags.error()) return *flags.error();
  if (!q.model.quantization.method.empty()) {
    q.assumed.push_back(q.model.name + " is stored in " + q.model.quantization.method +
                        "; training keeps its weights in 16 bits");
  }
  const std::int64_t longest = q.model.max_positions;
  if (longest > 0 && q.workload.sequence > longest) {
    q.notes.push_back("the sequence of " + std::to_string(q.workload.sequence) +
                      " tokens is longer than the " + std::to_string(longest) + " positions of " +
                      q.model.name);
  }
  for (const std::string& line : q.cluster.assumed) q.assumed.push_back(line);
  for (const std::string& line : q.model.assumed) q.assumed.push_back(q.model.name + ": " + line);
  return q;
}

}  // namespace shardplan
