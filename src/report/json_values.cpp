#include "report/json_values.h"

#include "catalog/parameters.h"
#include "reason/remarks.h"

namespace shardplan {
namespace {

Json optional_rate(const std::optional<BytesPerSecond<>>& b) { return b ? Json(b->raw()) : Json(nullptr); }

Json level_json(const std::optional<FailureLevel>& level) {
  if (!level) return nullptr;
  return {
      {"when", level->when}, {"value", level->value}, {"unit", level->unit}, {"statement", level->statement}};
}

}  // namespace

Json source_json(const Source& s) {
  return {{"kind", name(s.kind)}, {"id", s.id},     {"title", s.title},
          {"ref", s.ref},         {"date", s.date}, {"note", s.note}};
}

Json plan_json(const Plan& p) {
  Json json{{"dp", p.dp},
            {"tp", p.tp},
            {"pp", p.pp},
            {"cp", p.cp},
            {"ep", p.ep},
            {"etp", p.etp},
            {"zero_stage", p.zero_stage},
            {"micro_batch", p.micro_batch},
            {"grad_accumulation", p.grad_accumulation},
            {"interleave", p.interleave},
            {"schedule", name(p.schedule)},
            {"recompute", name(p.recompute)},
            {"sequence_parallel", p.sequence_parallel},
            {"canonical", canonical(p)}};
  // Where they are not told there is neither.
  if (!p.rank_order.usual()) json["rank_order"] = name(p.rank_order);
  if (p.shard_group > 0) json["shard_group"] = p.shard_group;
  if (p.first_layers != Plan::kEven) json["first_layers"] = p.first_layers;
  if (p.last_layers != Plan::kEven) json["last_layers"] = p.last_layers;
  if (p.offload != 0) json["offload"] = offload_names(p.offload);
  return json;
}

Json cluster_json(const Cluster& cluster) {
  Json tiers = Json::array();
  for (const Tier& t : cluster.tiers) {
    tiers.push_back({{"name", t.name},
                     {"gpus", t.size},
                     {"bandwidth_bytes_per_s", t.bandwidth.value.raw()},
                     {"latency_s", t.latency.value.raw()},
                     {"oversubscription", t.oversubscription.value.raw()}});
  }
  return {{"name", cluster.name},
          {"gpu", cluster.device.name},
          {"gpus", cluster.gpus},
          {"hbm_bytes", cluster.device.memory_reported.value.raw()},
          {"reserve_bytes", cluster.reserve().raw()},
          {"tiers", tiers}};
}

Json model_json(const Model& model, double state_parameters) {
  const ParameterCount count = count_parameters(model);
  const bool by_hand = model.declared_parameters.has_value();
  Json extras = Json::array();
  for (const NamedCount& extra : model.extras) {
    extras.push_back({{"name", extra.name}, {"params", extra.parameters}});
  }
  Json json{{"name", model.name}};
  if (by_hand) {
    json["total_params"] = static_cast<std::int64_t>(state_parameters);
    json["active_params"] = json["total_params"];       // a shape by hand is dense
    json["active_params_without_embedding"] = nullptr;  // its embedding is not known
  } else {
    json["total_params"] = count.total;
    json["active_params"] = count.active;
    json["active_params_without_embedding"] = count.active_without_embedding;
  }
  json["extras"] = extras;
  return json;
}

namespace {

Json stage_json(const MemoryAccount& account, std::size_t stage) {
  const MemoryBreakdown<>& memory = account.by_stage[stage];
  const MemoryPeaks<>& peaks = account.peaks[stage];
  const auto term = [&](MemoryTerm t) { return memory[t].raw(); };
  const double total = memory.total().raw();
  Json json{{"weights_bytes", term(MemoryTerm::kWeights)},
            {"gradients_bytes", term(MemoryTerm::kGradients)},
            {"optimizer_bytes", term(MemoryTerm::kOptimizer)},
            {"state_bytes", memory.state().raw()},
            {"activation_bytes", term(MemoryTerm::kActivations)},
            {"activation_per_layer_bytes", account.layer_activations.raw()},
            {"logits_bytes", term(MemoryTerm::kLogits)},
            {"transient_bytes", term(MemoryTerm::kTransient)},
            {"buffers_bytes", term(MemoryTerm::kBuffers)},
            {"fragmentation_bytes", (peaks.reserved - peaks.allocated).raw()},
            {"steady_bytes", memory.steady().raw()},
            {"allocated_peak_bytes", peaks.allocated.raw()},
            {"reserved_peak_bytes", peaks.reserved.raw()},
            {"driver_peak_bytes", peaks.driver.raw()},
            {"total_bytes", total},
            {"hbm_bytes", account.hbm.raw()},
            {"usable_bytes", account.usable.raw()},
            {"headroom_bytes", account.usable.raw() - total}};
  const HostMemory<>& host = account.host[stage];
  if (host.total() == bytes(0)) return json;
  json["host_bytes"] = host.total().raw();
  json["host_node_bytes"] = host.total().raw() * static_cast<double>(account.ranks_of_host);
  json["host"] = {{"weights_bytes", host.weights.raw()},
                  {"gradients_bytes", host.gradients.raw()},
                  {"optimizer_bytes", host.optimizer.raw()},
                  {"activation_bytes", host.activations.raw()}};
  return json;
}

}  // namespace

Json memory_json(const MemoryAccount& memory) {
  Json json = stage_json(memory, memory.fullest);
  json["by_stage"] = Json::array();
  for (std::size_t stage = 0; stage < memory.by_stage.size(); ++stage)
    json["by_stage"].push_back(stage_json(memory, stage));
  return json;
}

Json breakdown_json(const TimeBreakdown<>& time) {
  Json terms = Json::array();
  for (std::size_t i = 0; i < kTimeTermCount; ++i) {
    const TimeEntry<>& entry = time.terms[i];
    if (entry.time.raw() == 0) continue;
    terms.push_back({{"name", name(static_cast<TimeTerm>(i))},
                     {"time_s", entry.time.raw()},
                     {"hidden_s", entry.hidden.raw()},
                     {"exposed_s", entry.exposed().raw()}});
  }
  return terms;
}

Json nearest_miss_json(const std::optional<NearestMiss>& miss) {
  if (!miss) return nullptr;
  return {{"plan", plan_json(miss->plan)},
          {"constraint", name(miss->constraint)},
          {"stage", miss->stage},
          {"required_bytes", miss->memory.total().raw()},
          {"shortfall_bytes", miss->shortfall.raw()}};
}

Json census_json(const Census& census) {
  Json rejected = Json::object();
  for (int i = 0; i < kConstraintCount; ++i) {
    const std::int64_t count = census.rejected[static_cast<std::size_t>(i)];
    if (count > 0) rejected[name(static_cast<Constraint>(i))] = count;
  }
  Json json{{"considered", census.considered},
            {"judged", census.judged()},
            {"feasible", census.feasible},
            {"rejected", rejected},
            {"excluded_by_bounds",
             {{"slower", census.slower}, {"larger", census.larger}, {"alike", census.alike}}}};
  json["nearest_miss"] = nearest_miss_json(census.nearest_miss);
  return json;
}

Json utilisations_json(const std::vector<Utilisation>& utilisations) {
  Json list = Json::array();
  for (const Utilisation& u : utilisations) {
    list.push_back({{"convention", u.convention},
                    {"mfu", u.mfu.raw()},
                    {"hfu", u.hfu.raw()},
                    {"counts", u.counts},
                    {"remark", more_than_all(u) ? Json(more_than_all_words(u)) : Json(nullptr)},
                    {"where", u.where}});
  }
  return list;
}

Json estimate_json(const Question& q, const Answer& answer, std::size_t place) {
  const Estimate& e = place == 0 ? *answer.result.best : answer.result.runners_up[place - 1];
  const MemoryAccount& memory = answer.memory[place];
  Json error_band = nullptr;
  if (const auto& band = answer.step_band) {
    const StepRange range = step_range(q.workload, *band, e.step);
    error_band = {
        {"low_s", range.low.raw()}, {"high_s", range.high.raw()}, {"low_held_by_data_loading", range.held},
        {"rows", band->rows},       {"share", kTimeBandShare},    {"of", band->name}};
  }
  const ErrorBand* memory_band = answer.memory_band ? &*answer.memory_band : nullptr;
  const auto tie = place > 0 ? tie_between(*answer.result.best, e) : std::nullopt;
  return {{"plan", plan_json(e.plan)},
          {"memory", memory_json(memory)},
          {"memory_error_band", memory_band_json(answer.memory_band, memory.worst().total())},
          {"verdict", name(verdict_of(memory.worst().total(), memory.usable, memory_band))},
          {"step_time_s", e.step.raw()},
          {"tie_broken_by", tie ? Json(name(*tie)) : Json(nullptr)},
          {"tokens_per_s_per_gpu", e.tokens_per_gpu.raw()},
          {"mfu", e.mfu.raw()},
          {"hfu", e.hfu.raw()},
          {"flops_convention", flops_convention(q.workload)},
          {"utilisation", utilisations_json(answer.utilisations[place])},
          {"breakdown", breakdown_json(e.time)},
          {"error_band", error_band}};
}

Json memory_band_json(const std::optional<ErrorBand>& band, Bytes<> total) {
  if (!band) return nullptr;
  return {{"low_bytes", band->low(total.raw())},
          {"high_bytes", band->high(total.raw())},
          {"rows", band->rows},
          {"share", memory_band_share(*band)}};
}

Json best_clear_json(const Answer& answer) {
  if (!answer.best_clear) return nullptr;
  const Estimate& clear = *answer.best_clear;
  return {{"plan", plan_json(clear.plan)},
          {"memory", memory_json(*answer.best_clear_memory)},
          {"memory_error_band", memory_band_json(answer.memory_band, clear.memory.total())},
          {"verdict", name(Verdict::kFits)},
          {"step_time_s", clear.step.raw()},
          {"step_time_ratio", (clear.step / answer.result.best->step).raw()}};
}

Json nearest_json(const std::vector<NearRun>& nearest) {
  Json list = Json::array();
  for (const NearRun& n : nearest) {
    list.push_back({{"id", n.run.id},
                    {"source", n.run.source},
                    {"measured", n.run.measured.raw()},
                    {"predicted", n.run.predicted.raw()},
                    {"unit", "s"},
                    {"run", title(n.run.profile)},
                    {"distance", n.distance}});
  }
  return list;
}

Json figures_json(const std::vector<StatedFigure>& figures) {
  Json list = Json::array();
  for (const StatedFigure& f : figures) list.push_back({{"id", f.id}, {"value", f.value}, {"unit", f.unit}});
  return list;
}

namespace {

Json axis_json(const AxisFinding& x) {
  Json json{{"axis", x.axis},
            {"degree", x.degree},
            {"tier", x.tier},
            {"required_bandwidth_bytes_per_s", optional_rate(x.required_bandwidth)},
            {"available_bandwidth_bytes_per_s", optional_rate(x.available_bandwidth)},
            {"required_for", x.required_for.empty() ? Json(nullptr) : Json(x.required_for)},
            {"spans", x.spans.empty() ? x.tier : x.spans},
            {"links", Json::array()},
            {"reason", x.reason},
            {"figures", figures_json(x.figures)}};
  for (const LinkNeed& link : x.links) {
    json["links"].push_back({{"tier", link.tier},
                             {"required_bandwidth_bytes_per_s", optional_rate(link.required)},
                             {"available_bandwidth_bytes_per_s", link.available.raw()}});
  }
  return json;
}

Json limit_json(const Limit& limit) {
  Json json{{"id", limit.id}, {"statement", limit.statement}, {"value", nullptr}, {"unit", limit.unit}};
  if (limit.value > 0) json["value"] = limit.value;
  return json;
}

Json change_json(const FittingChange& change) {
  Json json{{"id", change.id},
            {"statement", change.statement},
            {"price", change.price},
            {"from", nullptr},
            {"to", nullptr},
            {"unit", change.unit},
            {"changes_training", change.changes_training},
            {"plan", plan_json(change.plan)},
            {"step_time_s", change.step.raw()},
            {"gpus", change.gpus},
            {"host_memory_bytes", change.host.raw()},
            {"figures", figures_json(change.figures)}};
  if (change.from > 0) {
    json["from"] = change.from;
    json["to"] = change.to;
  }
  return json;
}

}  // namespace

Json nothing_fits_json(const std::optional<NothingFits>& why) {
  if (!why) return nullptr;
  Json json{{"limits", Json::array()},
            {"proof", why->proof},
            {"figures", figures_json(why->figures)},
            {"changes", Json::array()}};
  for (const Limit& limit : why->limits) json["limits"].push_back(limit_json(limit));
  for (const FittingChange& change : why->changes) json["changes"].push_back(change_json(change));
  return json;
}

Json binding_json(const BindingConstraint& binding) {
  return {{"kind", binding.kind},   {"statement", binding.statement},
          {"value", binding.value}, {"limit", binding.limit},
          {"unit", binding.unit},   {"figures", figures_json(binding.figures)}};
}

void add_findings(const Answer& a, Json& json) {
  json["binding_constraint"] = binding_json(a.binding);
  for (const char* key :
       {"axes", "not_used", "failure_modes", "judged_by", "thresholds", "thresholds_not_sought", "unknowns"})
    json[key] = Json::array();
  for (const AxisFinding& x : a.axes) json["axes"].push_back(axis_json(x));
  for (const UnusedAxis& x : a.not_used) {
    json["not_used"].push_back(
        {{"axis", x.axis}, {"reason", x.reason}, {"figures", figures_json(x.figures)}});
    if (x.plan) json["not_used"].back()["plan"] = plan_json(*x.plan);
  }
  for (const FailureMode& f : a.failure_modes) {
    json["failure_modes"].push_back({{"id", f.id},
                                     {"statement", f.statement},
                                     {"symptom", f.symptom},
                                     {"metric", f.metric},
                                     {"level", level_json(f.level)},
                                     {"figures", figures_json(f.figures)}});
  }
  for (const JudgedBy& j : a.judged_by) {
    json["judged_by"].push_back({{"id", j.id},
                                 {"statement", j.statement},
                                 {"value", j.value},
                                 {"unit", j.unit},
                                 {"source", source_json(j.source)}});
  }
  for (const Threshold& t : a.thresholds) {
    json["thresholds"].push_back({{"parameter", t.parameter},
                                  {"current", t.current},
                                  {"threshold", t.threshold},
                                  {"unit", t.unit},
                                  {"then", t.then},
                                  {"figures", figures_json(t.figures)}});
    if (t.same_until) json["thresholds"].back()["same_until"] = *t.same_until;
  }
  for (const NotSought& n : a.not_sought)
    json["thresholds_not_sought"].push_back({{"parameter", n.parameter}, {"reason", n.reason}});
  for (const Unknown& u : a.unknowns) {
    json["unknowns"].push_back({{"id", u.id},
                                {"statement", u.statement},
                                {"magnitude", u.magnitude},
                                {"figures", figures_json(u.figures)}});
    if (!u.source.empty()) json["unknowns"].back()["source"] = u.source;
  }
}

}  // namespace shardplan
