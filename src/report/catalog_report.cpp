#include "report/catalog_report.h"

#include <algorithm>
#include <map>
#include <utility>

#include "catalog/parameters.h"
#include "report/layout.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr const char* kUnknown = "-";

/// Collects the numbers of one entry.
class Rows {
 public:
  explicit Rows(CatalogEntry& entry) : entry_(entry) {}
  template <class Q>
  void add(std::string what, std::string key, const Sourced<Q>& number) {
    entry_.rows.push_back(
        {std::move(what), std::move(key), number.value.raw(), format(number.value), number.source});
  }
  template <class Q>
  void add(std::string what, std::string key, const std::optional<Sourced<Q>>& number) {
    if (number) add(std::move(what), std::move(key), *number);
  }
  void duration(std::string what, std::string key, const Sourced<Seconds<>>& time) {
    entry_.rows.push_back(
        {std::move(what), std::move(key), time.value.raw(), format_duration(time.value), time.source});
  }
  void count(std::string what, std::string key, double value, const Source& source) {
    entry_.rows.push_back({std::move(what), std::move(key), value, format_count(value), source});
  }

 private:
  CatalogEntry& entry_;
};

std::string peak_of(const Device& d, Precision precision) {
  const auto& peak = d.peak[static_cast<std::size_t>(precision)];
  return peak ? format(peak->value) : kUnknown;
}

void add_precisions(const Device& d, Rows& rows) {
  for (int i = 0; i < kPrecisionCount; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::string precision = name(static_cast<Precision>(i));
    rows.add("peak " + precision + ", dense", "peak_" + precision + "_flops_per_s", d.peak[at]);
    rows.add("share of peak, large GEMM, " + precision, "gemm_" + precision, d.efficiency.gemm[at]);
    rows.add("k at half of that rate, " + precision, "gemm_k_half_" + precision,
             d.efficiency.gemm_k_half[at]);
  }
}

/// "wave_share" as a label: "wave share".
std::string words(std::string_view key) {
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string sharded_words(const Framework::Sharding& s) {
  if (!s.allowed) return "";
  std::string text;
  const auto add = [&](bool yes, const char* what) {
    if (yes) text += (text.empty() ? "" : "+") + std::string(what);
  };
  add(s.weights, "weights");
  add(s.gradients, "gradients");
  add(s.optimizer, "optimizer");
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::string source_text(const Source& s) {
  std::string text = label(s);
  if (!s.ref.empty()) text += ", " + s.ref;
  if (!s.date.empty()) text += ", " + s.date;
  return text;
}

CatalogEntry catalog_entry(const Device& d) {
  CatalogEntry entry;
  entry.name = d.name;
  entry.description = d.vendor + " " + d.architecture + "; usual node of " +
                      std::to_string(d.usual_gpus_per_node) +
                      (d.usual_fabric.empty() ? "" : ", network " + d.usual_fabric);
  if (const auto& torus = d.scale_up.torus) {
    if (const auto pod = slice_of(*torus, torus->extents))
      entry.description += "; pod of " + shape_text(*pod) + " chips [" + label(torus->source) + "]";
  }
  entry.aliases = d.aliases;
  entry.headline = {format(d.memory_reported.value),
                    format(d.memory_bandwidth.value),
                    peak_of(d, Precision::kBf16),
                    peak_of(d, Precision::kFp8),
                    format(d.scale_up.achieved_bandwidth.value),
                    format(d.scale_up.latency.value),
                    format(d.scale_up.domain_size.value),
                    d.usual_fabric};
  Rows rows(entry);
  rows.add("memory as sold", "memory_sold_bytes", d.memory_sold);
  rows.add("memory reported", "memory_reported_bytes", d.memory_reported);
  rows.add("memory bandwidth", "memory_bandwidth_bytes_per_s", d.memory_bandwidth);
  const std::string link = std::string("own link (") + name(d.scale_up.kind) + ")";
  rows.add(link + ", domain", "scale_up_domain_gpus", d.scale_up.domain_size);
  rows.add(link + ", as sold", "scale_up_bandwidth_bytes_per_s", d.scale_up.bandwidth);
  rows.add(link + ", large rings", "scale_up_achieved_bandwidth_bytes_per_s", d.scale_up.achieved_bandwidth);
  rows.add(link + ", one step", "scale_up_latency_s", d.scale_up.latency);
  rows.add("link to the host", "pcie_bandwidth_bytes_per_s", d.pcie_bandwidth);
  rows.add("multiprocessors", "sm_count", d.sm_count);
  add_precisions(d, rows);
  rows.add("share of bf16 peak, attention", "attention", d.efficiency.attention);
  rows.add("share of memory bandwidth", "memory", d.efficiency.memory);
  rows.add("kernel launch", "kernel_launch_s", d.efficiency.kernel_launch);
  rows.add("contention", "contention", d.efficiency.contention);
  if (!d.ideal) {
    visit_law(d.law, [&](const char* key, const auto& constant) { rows.add(words(key), key, constant); });
  }
  return entry;
}

CatalogEntry catalog_entry(const Fabric& f) {
  CatalogEntry entry;
  entry.name = f.name;
  entry.description = f.description;
  entry.aliases = f.aliases;
  entry.headline = {format(f.bandwidth.value), format_percent(f.efficiency.value.raw()),
                    format(f.latency.value), f.description};
  Rows rows(entry);
  rows.add("line rate per GPU", "bandwidth_bytes_per_s", f.bandwidth);
  rows.add("share that large rings reach", "efficiency", f.efficiency);
  rows.add("one hop", "latency_s", f.latency);
  return entry;
}

CatalogEntry catalog_entry(const Framework& f) {
  CatalogEntry entry;
  entry.name = f.name;
  entry.description = f.description;
  const StateBytes& usual = f.state[static_cast<std::size_t>(Optimizer::kAdamW)];
  entry.headline = {format(usual.weight.value), format(usual.gradient.value), format(usual.master.value),
                    format(usual.moments.value)};
  for (const Framework::Sharding& s : f.zero)
    entry.headline.push_back(s.allowed ? sharded_words(s) : kUnknown);
  Rows rows(entry);
  rows.add("weight", "weight_bytes", usual.weight);
  rows.add("gradient", "gradient_bytes", usual.gradient);
  rows.add("master weight", "master_bytes", usual.master);
  for (int i = 0; i < kOptimizerCount; ++i) {
    const std::string optimizer = name(static_cast<Optimizer>(i));
    const StateBytes& s = f.state[static_cast<std::size_t>(i)];
    rows.add("moments, " + optimizer, "moments_" + optimizer + "_bytes", s.moments);
    if (s.master.value != usual.master.value) {
      rows.add("master weight, " + optimizer, "master_" + optimizer + "_bytes", s.master);
    }
  }
  rows.add("gathered weight", "gathered_weight_bytes", f.gathered_weight_bytes);
  if (f.extra_gradient) rows.add("second gradient buffer", "extra_gradient_bytes", f.extra_gradient->bytes);
  return entry;
}

/// Only what the release's entry states: a constant without a source is neutral, and says nothing.
CatalogEntry catalog_entry(const Timing& t) {
  CatalogEntry entry;
  entry.name = t.name;
  entry.description = t.description + (t.usual ? "; what --framework " + t.framework + " alone means" : "");
  const auto share = [](const Sourced<Ratio<>>& r) { return format_percent(r.value.raw()); };
  entry.headline = {t.framework + (t.usual ? ", usual" : ""),
                    share(t.tensor_hidden),
                    share(t.exchange_hidden),
                    share(t.reduce_window),
                    share(t.gather_window),
                    share(t.sends_hidden),
                    format(t.step.value),
                    share(t.jitter)};
  Rows rows(entry);
  visit_timing(t, [&](const char* key, const auto& constant) {
    if (!constant.source.id.empty()) rows.add(words(key), key, constant);
  });
  return entry;
}

CatalogEntry catalog_entry(const Cluster& c) {
  CatalogEntry entry;
  entry.name = c.name;
  std::string tiers;
  for (const Tier& t : c.tiers) {
    tiers += (tiers.empty() ? "" : ", ") + t.name + " " + std::to_string(t.size) + " at " +
             format(t.bandwidth.value);
  }
  entry.headline = {c.device.name, std::to_string(c.gpus), tiers};
  Rows rows(entry);
  rows.count("GPUs", "gpus", static_cast<double>(c.gpus), c.source);
  rows.add("memory of a GPU", "memory_reported_bytes", c.device.memory_reported);
  for (const Tier& t : c.tiers) {
    rows.count(t.name + ", GPUs joined", t.name + "_gpus", static_cast<double>(t.size), c.source);
    rows.add(t.name + ", bandwidth", t.name + "_bandwidth_bytes_per_s", t.bandwidth);
    rows.add(t.name + ", one step", t.name + "_latency_s", t.latency);
    Sourced<Ratio<>> oversubscription = t.oversubscription;
    if (oversubscription.source.id.empty()) oversubscription.source = c.source;
    rows.add(t.name + ", oversubscription", t.name + "_oversubscription", oversubscription);
  }
  const Reliability& r = c.reliability;
  if (!r.known()) return entry;
  rows.duration("interruptions, one GPU brings one in", "mtbf_gpu_s", r.mtbf_gpu);
  rows.duration("restart", "restart_s", r.restart);
  rows.add("checkpoints, written at", "checkpoint_bandwidth_bytes_per_s", r.checkpoint_bandwidth(c.gpus));
  return entry;
}

CatalogEntry catalog_entry(const Model& m) {
  CatalogEntry entry;
  entry.name = m.name;
  entry.description = m.architecture;
  const ParameterCount count = count_parameters(m);
  const auto total = static_cast<double>(count.total), active = static_cast<double>(count.active);
  const auto layers = static_cast<double>(m.layers.size());
  entry.headline = {format_count(total),
                    format_count(active),
                    format_count(layers),
                    format_count(static_cast<double>(m.hidden)),
                    format_count(static_cast<double>(m.vocab)),
                    m.architecture};
  Rows rows(entry);
  rows.count("parameters", "total_params", total, m.source);
  rows.count("active parameters", "active_params", active, m.source);
  rows.count("active, without embedding", "active_params_without_embedding",
             static_cast<double>(count.active_without_embedding), m.source);
  rows.count("layers", "layers", layers, m.source);
  rows.count("hidden size", "hidden", static_cast<double>(m.hidden), m.source);
  rows.count("vocabulary", "vocab", static_cast<double>(m.vocab), m.source);
  rows.count("longest sequence", "max_positions_tokens", static_cast<double>(m.max_positions), m.source);
  for (const NamedCount& extra : m.extras) {
    rows.count("not counted: " + extra.name, extra.name + "_params", static_cast<double>(extra.parameters),
               m.source);
  }
  return entry;
}

std::vector<std::string> device_columns() {
  return {"GPU", "memory", "memory bw", "bf16", "fp8", "link bw", "step", "domain", "usual network"};
}
std::vector<std::string> fabric_columns() { return {"fabric", "line rate", "reached", "hop", "what it is"}; }
std::vector<std::string> framework_columns() {
  return {"framework", "weight", "gradient", "master", "AdamW", "ZeRO 0", "ZeRO 1", "ZeRO 2", "ZeRO 3"};
}
std::vector<std::string> timing_columns() {
  return {"timing",       "framework", "tp hidden", "all-to-all hidden", "reduce window", "gather window",
          "sends hidden", "fixed",     "jitter"};
}
std::vector<std::string> cluster_columns() { return {"cluster", "GPU", "GPUs", "tiers"}; }
std::vector<std::string> model_columns() {
  return {"model", "parameters", "active", "layers", "hidden", "vocab", "architecture"};
}

std::string catalog_table(std::span<const CatalogEntry> entries, const std::vector<std::string>& columns) {
  Table table;
  table.row(columns);
  for (const CatalogEntry& e : entries) {
    std::vector<std::string> cells{e.name};
    cells.insert(cells.end(), e.headline.begin(), e.headline.end());
    table.row(std::move(cells));
  }
  return table.text("", true);
}

std::string catalog_entry_text(const CatalogEntry& e) {
  std::string text = e.name + (e.description.empty() ? "" : ": " + e.description) + "\n";
  std::string aliases;
  for (const std::string& alias : e.aliases) aliases += (aliases.empty() ? "" : ", ") + alias;
  if (!aliases.empty()) text += wrap(aliases, "also: ", "  ");
  // Sources are long and often shared: numbered below the table, in the order they are met, with the notes
  // that several of their rows have.
  std::map<std::pair<std::string, std::string>, int> rows_with;
  for (const CatalogEntry::Row& row : e.rows) ++rows_with[{source_text(row.source), row.source.note}];
  std::map<std::string, std::size_t> numbers;
  std::vector<std::string> sources;
  Table table("lrll");
  for (const CatalogEntry::Row& row : e.rows) {
    if (row.source.id.empty() && row.source.title.empty()) {
      table.row({row.what, row.text, "", row.source.note});
      continue;
    }
    const std::string from = source_text(row.source);
    if (numbers.try_emplace(from, sources.size() + 1).second) sources.push_back(from);
    std::string note = row.source.note;
    if (int& rows = rows_with[{from, note}]; rows != 1) {
      if (rows > 1 && !note.empty()) sources[numbers[from] - 1] += "; " + note;
      rows = 0;  // said
      note.clear();
    }
    table.row({row.what, row.text, "[" + std::to_string(numbers[from]) + "]", note});
  }
  text += "\n" + table.text() + "\n";
  for (std::size_t i = 0; i < sources.size(); ++i) {
    text += wrap(sources[i], "[" + std::to_string(i + 1) + "] ", "    ");
  }
  return text;
}

Json catalog_entry_json(const CatalogEntry& e) {
  Json json{{"name", e.name}, {"description", e.description}, {"aliases", e.aliases}};
  for (const CatalogEntry::Row& row : e.rows) {
    json["numbers"][row.key] = {{"value", row.value}, {"source", source_json(row.source)}};
  }
  return json;
}

}  // namespace shardplan
