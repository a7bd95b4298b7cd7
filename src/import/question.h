// The question as a person types it, and the one place where it is checked and completed.
//
//   QuestionSpec spec;
//   spec.model = "llama3-70b";  spec.gpu = "h100";  spec.gpus = "64";
//   Result<Question> q = build_question(spec, catalog());
//   q->cluster.tiers[1].bandwidth   // 400 Gbit/s x what rings reach, with both sources
//   q->assumed                      // "h100-sxm: its usual node of 8 and fabric ib-ndr-400", ...
//
// Every flag is a text here, as it was typed: an adapter copies, it neither parses nor knows a default.
// Not here: which plans are legal for a model (graph/space.h), names and numbers of the catalog (catalog.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/question.h"
#include "catalog/result.h"
#include "import/catalog.h"

namespace shardplan {

/// What is done with the answer decides how many GPUs and how large a batch are meant when none is told.
enum class Purpose {
  kPlan,    // a whole search: the usual number of GPUs, a batch of about 4 Mi tokens
  kSizes,   // the same on one of several sizes of the cluster: a batch that does not depend on it
  kMemory,  // one layout: as many GPUs as its told axes need, 1 when none is told
  kRun,     // one layout that has run: as kMemory, its activations op by op
  kServe,   // one replica when its degree is told, else the usual number of GPUs
};

/// The texts of the flags; absent = not told.
struct QuestionSpec {
  Purpose purpose = Purpose::kPlan;
  using Flag = std::optional<std::string>;
  Flag model, preset, params, layers, hidden, heads, kv_heads, ffn, vocab, head_dim;
  Flag cluster, gpu, gpus, gpus_per_node, topology, hbm, hbm_bw, peak_tflops;
  Flag bw_intra, bw_inter, latency_intra, latency_inter, reserve, host_memory;
  Flag mtbf_gpu_hours, restart_time, checkpoint_bandwidth;
  Flag seq, global_batch, precision, optimizer, framework, critical_batch, activation_model;
  Flag dp, tp, pp, cp, ep, etp, zero, micro_batch, interleave, schedule, recompute, sp;
  Flag first_layers, last_layers, shard_group, rank_order, offload, lora, quantized_base, expert_imbalance,
      capacity_factor;
  Flag expandable_segments, unsharded_start, data_loading, tp_overlap;
};

/// A flag as adapters need it: its spelling, where its text goes, one line of help that names the unit.
struct QuestionFlag {
  const char* flag;
  QuestionSpec::Flag QuestionSpec::*text;
  const char* help;
};
/// All of them, in the order of the help page.
std::span<const QuestionFlag> question_flags();

/// The whole question, or the first thing that is wrong with it (`where` is the flag).
Result<Question> build_question(const QuestionSpec& spec, const Catalog& catalog);

// The parts, for commands that need only one of them.
/// --model or --preset or a shape by hand.
Result<Model> build_model(const QuestionSpec& spec, const Catalog& catalog, std::vector<std::string>& notes);
/// --cluster, or --gpu with --gpus, or by hand; `notes` takes remarks on what was told.
Result<Cluster> build_cluster(const QuestionSpec& spec, const Catalog& catalog,
                              std::vector<std::string>& notes);
/// What was told of the plan, each value checked on its own.
Result<FixedAxes> parse_axes(const QuestionSpec& spec);

/// One layout for `memory`, and what was taken for the axes that were not told.
struct MemoryPlan {
  Plan plan;
  std::vector<std::string> assumed;
};
/// Full sharding (ZeRO-3), micro-batch 1, micro-batches as pipeline stages, dp = the GPUs that remain.
Result<MemoryPlan> default_memory_plan(const Question& question);

}  // namespace shardplan
