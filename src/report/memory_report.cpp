#include "report/memory_report.h"

#include <algorithm>

#include "reason/term_words.h"
#include "report/plan_words.h"
#include "report/remedy_report.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string broken_words(Constraint broken) {
  switch (broken) {
    case Constraint::kState:
      return "state alone exceeds what is usable";
    case Constraint::kActivations:
      return "state and activations exceed what is usable";
    case Constraint::kLogits:
      return "state, activations and logits exceed what is usable";
    default:
      return "working buffers exceed what is left";
  }
}

std::string headline(const Question& q, const MemoryAnswer& a) {
  const MemoryBreakdown<>& worst = a.memory.worst();
  if (a.broken == Constraint::kHostMemory) {
    return "does not fit: " + format(a.host) + " of a node's host memory, which has " +
           format(q.cluster.host_memory->value) + "\n";
  }
  if (!a.fits && a.suggestions.best) {
    const Estimate& best = *a.suggestions.best;
    return "fits with another plan: " + canonical(best.plan) + " needs " + format(best.memory.total()) +
           " of " + format(best.usable) + " usable\n" + "as told it does not: " + format(worst.total()) +
           ", " + format(worst.total() - a.memory.usable) + " too much; " + broken_words(*a.broken) + "\n";
  }
  const std::string where = a.plan.pp > 1 ? "fullest GPU (stage " + std::to_string(a.memory.fullest) +
                                                " of " + std::to_string(a.plan.pp) + ")"
                                          : "each GPU";
  const std::string both = format(worst.total()) + " of " + format(a.memory.usable) + " usable on " + where;
  if (a.verdict == Verdict::kTight)
    return "tight: " + both + "; " + memory_band_words(*a.band, a.memory.worst().total()) + "\n";
  if (a.fits) return "fits: " + both + ", " + format(a.memory.usable - worst.total()) + " free\n";
  std::string text = "does not fit: " + both + ", " + format(worst.total() - a.memory.usable) +
                     " too much; " + broken_words(*a.broken) + "\n";
  if (!a.floor.feasible) {
    // A plan that fits all the same can only be one with the host.
    const auto& offloading = a.smallest_offloading;
    const bool elsewhere = keeps_training(a.remedies) || (offloading && offloading->gpus <= q.cluster.gpus);
    text += "no plan fits on " + counted(q.cluster.gpus, "GPU") + (elsewhere ? " without their host" : "") +
            ": state alone is " + format(a.floor.state_per_gpu) + " on each under full sharding, more than " +
            format(a.floor.usable) + "; it needs at least " + format_count(a.floor.min_gpus) + "\n";
  }
  return text;
}

std::string model_line(const Question& q, const MemoryAnswer& a) {
  std::string text = "model    " + q.model.name + ": " + format_count(a.parameters) + " parameters";
  if (!q.model.declared_parameters && a.count.active != a.count.total) {
    text += ", " + format_count(static_cast<double>(a.count.active)) + " active (" +
            format_count(static_cast<double>(a.count.active_without_embedding)) + " without input embedding)";
  }
  for (const NamedCount& extra : q.model.extras) {
    text +=
        "\n         not counted: " + extra.name + " " + format_count(static_cast<double>(extra.parameters));
  }
  return text + "\n";
}

std::string largest_line(const MemoryAnswer& a) {
  std::string text;
  for (const Tensor& t : a.largest) text += (text.empty() ? "largest  " : "; ") + tensor_words(t);
  return text + "\n";
}

std::string floor_lines(const MemoryAnswer& a) {
  const Floor& f = a.floor;
  return "floor    state is " + format(f.state) + ": " + format(f.state_per_gpu) +
         " on each GPU under full sharding, " + (f.feasible ? "at most " : "more than ") + format(f.usable) +
         " usable; state alone needs at least " + counted(f.min_gpus, "GPU") + ", " +
         format_count(f.min_gpus_whole_nodes) + " in whole nodes\n";
}

/// `first`: what the line begins with.
std::string smallest_words(const char* first, const SmallestCluster& smallest) {
  const Estimate& e = smallest.best;
  return std::string(first) + counted(smallest.gpus, "GPU") + " in whole nodes " +
         (smallest.gpus == 1 ? "holds" : "hold") + " a plan: " + canonical(e.plan) + " with " +
         format(e.headroom()) + " free";
}

std::string smallest_lines(const Question& q, const MemoryAnswer& a) {
  std::string text;
  if (a.smallest) text += smallest_words("smallest ", *a.smallest) + "\n";
  if (!a.smallest_offloading) return text;
  const Bytes<> host = a.smallest_offloading->host;
  const auto& has = q.cluster.host_memory;
  return text +
         smallest_words(text.empty() ? "smallest with the host " : "         with the host ",
                        *a.smallest_offloading) +
         ", " + format(host) + " of " +
         (has ? "a node's " + format(has->value) + " of host memory"
              : "host memory in a node (not checked: --host-memory)") +
         "\n";
}

std::string suggestion_table(const MemoryAnswer& a) {
  const SearchResult& r = a.suggestions;
  const std::string considered =
      "of " + format_count(static_cast<double>(r.census.considered)) + " legal plans";
  if (!r.best) return "nothing suggested fits (" + considered + ")\n";
  Table table;
  table.row({"plan", "total", "free", "step"});
  const auto add = [&](const Estimate& e) {
    table.row({canonical(e.plan), format(e.memory.total()), format(e.headroom()), format(e.step)});
  };
  add(*r.best);
  for (const Estimate& e : r.runners_up) add(e);
  return "plans that fit, fastest for each sequence first (" + considered + "; the best of each layout)\n" +
         table.text();
}

/// The same peak as tools show it.
std::string peak_line(const Question& q, const MemoryAnswer& a) {
  if (q.activations == ActivationModel::kPaper) {
    return "  op by op, as plan counts and frameworks keep: " + format(a.total_ops) +
           " (--activations ops)\n";
  }
  const MemoryPeaks<>& peaks = a.memory.peaks[a.memory.fullest];
  std::string text = "  steady " + format(a.memory.worst().steady()) + "; peak " + format(peaks.allocated) +
                     " allocated, " + format(peaks.reserved) + " reserved, " + format(peaks.driver) +
                     " by nvidia-smi\n";
  const bool beyond = q.workload.adapters.rank > 0 || a.plan.offload != 0;
  if (!a.band) {
    text += "  no measured run " + (beyond ? "with adapters or host memory" : "of " + q.framework.name) +
            " was compared: no error band is claimed\n";
  }
  if (a.band && a.verdict != Verdict::kTight)
    text += "  " + memory_band_words(*a.band, a.memory.worst().total()) + "\n";
  return text;
}

/// What waits in the host's memory.
std::string host_line(const Question& q, const MemoryAnswer& a) {
  const HostMemory<>& host = a.memory.host[a.memory.fullest];
  if (host.total() == bytes(0)) return "";
  std::string parts;
  const auto part = [&](const char* what, Bytes<> size) {
    if (size > bytes(0)) parts += (parts.empty() ? "" : ", ") + std::string(what) + " " + format(size);
  };
  part("optimizer state", host.optimizer);
  part("gradients", host.gradients);
  part("weights", host.weights);
  part("activations", host.activations);
  const double ranks = static_cast<double>(a.memory.ranks_of_host);
  const auto& has = q.cluster.host_memory;
  return "  host memory " + format(host.total()) + " for each GPU, " + format(ranks * host.total()) +
         " for the " + format_count(ranks) + " of a node: " + parts + "\n  " +
         (has ? "a node needs " + format(a.host) + " of its host's " + format(has->value)
              : "not checked: that a node's host has the " + format(a.host) + " (--host-memory)") +
         "\n";
}

std::string adapter_line(const Question& q, const MemoryAnswer& a) {
  const Adapters& adapters = q.workload.adapters;
  if (adapters.rank == 0) return "";
  return "adapters " + format_count(a.trained) + " parameters are trained, " +
         format_percent(a.trained / a.parameters) + " of the model's: rank " +
         format_count(static_cast<double>(adapters.rank)) + " beside " +
         adapter_target_names(adapters.targets) + "; the base is frozen in " +
         (adapters.base ? adapters.base->name : "16 bits") + "\n";
}

Json smallest_json(const std::optional<SmallestCluster>& smallest) {
  if (!smallest) return nullptr;
  return {{"gpus", smallest->gpus},
          {"plan", plan_json(smallest->best.plan)},
          {"host_node_bytes", smallest->host.raw()}};
}

}  // namespace

std::string memory_band_words(const ErrorBand& band, Bytes<> total) {
  return "of " + rows_text(band) + ", each by its own counter: " + format_percent(memory_band_share(band)) +
         " likely " + range_text(band) + " the prediction, " + format(bytes(band.low(total.raw()))) + " to " +
         format(bytes(band.high(total.raw())));
}

std::string stage_lines(const std::vector<MemoryBreakdown<>>& by_stage) {
  if (by_stage.size() <= 1) return "";
  Table table;
  table.row({"stage", "state", "activations", "logits", "buffers", "total"});
  for (std::size_t s = 0; s < by_stage.size(); ++s) {
    const MemoryBreakdown<>& m = by_stage[s];
    table.row({std::to_string(s), format(m.state()), format(m[MemoryTerm::kActivations]),
               format(m[MemoryTerm::kLogits]), format(m[MemoryTerm::kTransient] + m[MemoryTerm::kBuffers]),
               format(m.total())});
  }
  return "by pipeline stage\n" + table.text();
}

std::string memory_lines(const MemoryBreakdown<>& memory, Bytes<> usable) {
  Table table;
  const Bytes<> largest = *std::max_element(memory.terms.begin(), memory.terms.end());
  for (std::size_t i = 0; i < kMemoryTermCount; ++i) {
    const Bytes<> term = memory.terms[i];
    if (term.raw() == 0) continue;
    table.row({words(static_cast<MemoryTerm>(i)), format(term), format_percent((term / memory.total()).raw()),
               term == largest ? "largest" : ""});
  }
  table.row({"total", format(memory.total()), "", "of " + format(usable) + " usable"});
  return table.text("  ", true);
}

std::string memory_text(const Question& q, const MemoryAnswer& a, const std::vector<std::string>& assumed) {
  const Cluster& c = q.cluster;
  const bool paper = q.activations == ActivationModel::kPaper;
  std::string text = headline(q, a) + "\n" + model_line(q, a) + adapter_line(q, a);
  text += "plan     " + canonical(a.plan) + " on " + format_count(static_cast<double>(c.gpus)) + " x " +
          c.device.name + "\n";
  text += "reserve  " + format(c.reserve()) + " of " + format(a.memory.hbm) +
          " (context, communication buffers, fragmentation)\n\n";
  text += "memory of the fullest GPU, activations by the " +
          std::string(paper ? "closed forms of arXiv:2205.05198" : "op-by-op account") + "\n";
  text += memory_lines(a.memory.worst(), a.memory.usable) + peak_line(q, a) + host_line(q, a) + "\n" +
          stage_lines(a.memory.by_stage);
  text += "layer    one micro-batch keeps " + format(a.layer_paper) + " (paper) or " + format(a.layer_ops) +
          " (ops, fused attention) in a layer\n";
  text += largest_line(a) + floor_lines(a) + smallest_lines(q, a);
  const bool tight = a.verdict == Verdict::kTight;
  const std::string makes = tight ? "make it fit at the band's far end" : "make it fit";
  if (!a.fits && a.floor.feasible && !keeps_training(a.remedies))
    text += "\nno change of one or two settings of the plan makes it fit\n";
  // Of the allocator's blocks, not of the total: no remedy by itself where the total does not fit.
  const auto joined = tight ? a.joined : std::nullopt;
  if (!a.remedies.empty() || joined)
    text += "\nwhat would " + makes + ", by step time\n" + remedy_lines(a.remedies, joined);
  if (a.suggested) text += "\n" + suggestion_table(a);
  if (!assumed.empty()) {
    text += "\nassumed\n";
    for (const std::string& line : assumed) text += "  " + line + "\n";
  }
  return text;
}

Json memory_answer_json(const Question& q, const MemoryAnswer& a, const std::vector<std::string>& assumed) {
  Json suggestions = Json::array();
  const auto suggest = [&](const Estimate& e) {
    suggestions.push_back({{"plan", plan_json(e.plan)},
                           {"memory", memory_json(a.suggestion_memory[suggestions.size()])},
                           {"step_time_s", e.step.raw()}});
  };
  Json largest = Json::array();
  for (const Tensor& t : a.largest) largest.push_back(tensor_json(t));
  if (a.suggestions.best) suggest(*a.suggestions.best);
  for (const Estimate& e : a.suggestions.runners_up) suggest(e);
  Json json{
      {"schema_version", kSchemaVersion},
      {"model", model_json(q.model, a.parameters)},
      {"plan", plan_json(a.plan)},
      {"memory", memory_json(a.memory)},
      {"largest_tensors", largest},
      {"fits", a.fits},
      {"verdict", name(a.verdict)},
      {"error_band", memory_band_json(a.band, a.memory.worst().total())},
      {"total_ops_bytes", a.total_ops.raw()},
      {"host_memory_bytes", q.cluster.host_memory ? Json(q.cluster.host_memory->value.raw()) : Json(nullptr)},
      {"activation_model", q.activations == ActivationModel::kPaper ? "paper" : "ops"},
      {"activation_per_layer_bytes_by_model", {{"paper", a.layer_paper.raw()}, {"ops", a.layer_ops.raw()}}},
      {"floor",
       {{"state_bytes", a.floor.state.raw()},
        {"state_bytes_per_gpu", a.floor.state_per_gpu.raw()},
        {"usable_bytes", a.floor.usable.raw()},
        {"feasible", a.floor.feasible},
        {"min_gpus", static_cast<std::int64_t>(a.floor.min_gpus)},
        {"min_gpus_whole_nodes", static_cast<std::int64_t>(a.floor.min_gpus_whole_nodes)}}},
      {"smallest_cluster", smallest_json(a.smallest)},
      {"smallest_cluster_offloading", smallest_json(a.smallest_offloading)},
      {"assumed", assumed},
      {"remedies", remedies_json(a.remedies, a.verdict == Verdict::kTight ? a.joined : std::nullopt)},
      {"suggestions", suggestions}};
  const Adapters& adapters = q.workload.adapters;
  if (adapters.rank > 0) {
    json["adapters"] = {{"rank", adapters.rank},
                        {"targets", adapter_target_names(adapters.targets)},
                        {"trained_params", static_cast<std::int64_t>(a.trained)},
                        {"base", adapters.base ? Json(adapters.base->name) : Json(nullptr)}};
  }
  return json;
}

}  // namespace shardplan
