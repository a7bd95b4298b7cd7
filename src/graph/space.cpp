#include "graph/space.h"

#include <algorithm>

#include "catalog/modules.h"
#include "graph/placement.h"
#include "graph/stages.h"

namespace shardplan {
namespace {

struct Limits {
  std::int64_t& heads;
  std::int64_t& widths;
  std::int64_t& experts;
  std::int64_t& expert_widths;
  std::vector<std::int64_t>& kv_heads;

  void operator()(const Attention& a) const {
    heads = std::gcd(heads, a.heads);
    kv_heads.push_back(a.kv_heads);
  }
  void operator()(const LatentAttention& a) const { heads = std::gcd(heads, a.heads); }
  void operator()(const Mamba2& m) const { heads = std::gcd(heads, m.heads); }
  void operator()(const GatedDeltaNet& g) const {
    heads = std::gcd(std::gcd(heads, g.value_heads), g.key_heads);
  }
  void operator()(const OtherMixer& o) const {
    heads = std::gcd(heads, o.heads);
    kv_heads.push_back(o.kv_heads);
  }
  void operator()(const NoMixer&) const {}
  void operator()(const DenseMlp& m) const { widths = std::gcd(widths, m.width); }
  void operator()(const MoeMlp& m) const {
    experts = std::gcd(experts, m.experts);
    expert_widths = std::gcd(expert_widths, m.width);
    if (m.shared_width > 0) widths = std::gcd(widths, m.shared_width);
  }
  void operator()(const NoMlp&) const {}
};

bool divides(std::int64_t degree, std::int64_t what) { return what % degree == 0; }

/// The candidates of an axis: what was fixed, or all that could be.
template <class T>
std::vector<T> choices(const std::optional<T>& fixed, std::vector<T> all) {
  return fixed ? std::vector<T>{*fixed} : all;
}

std::vector<std::int32_t> narrow(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

/// The group sizes of a layout lie between the bounds that were told.
bool within_bounds(const FixedAxes& fixed, const Plan& layout) {
  constexpr std::array kGroups{Degree::kDp, Degree::kTp, Degree::kPp, Degree::kCp, Degree::kEp, Degree::kEtp};
  return std::all_of(kGroups.begin(), kGroups.end(),
                     [&](Degree degree) { return fixed.bounds_of(degree).hold(degree_of(layout, degree)); });
}

std::string says(const char* axis, std::int64_t degree, std::int64_t what, const char* of) {
  return std::string(axis) + " " + std::to_string(degree) + " does not divide " + std::to_string(what) + " " +
         of;
}

bool schedule_allows(const Plan& p) {
  const bool interleaved = p.interleave > 1;
  if (interleaved != (p.schedule == Schedule::kInterleaved)) return false;
  if (p.pp == 1 && p.schedule != Schedule::k1F1B) return false;
  if (interleaved && p.grad_accumulation % p.pp != 0) return false;
  return p.schedule != Schedule::kDualPipe ||
         (p.pp % 2 == 0 && p.grad_accumulation % 2 == 0 && p.grad_accumulation >= filling_micro_batches(p));
}

std::string expert_rule(const Plan& p, std::int64_t experts) {
  const std::string ep = "ep " + std::to_string(p.ep), etp = "etp " + std::to_string(p.etp);
  if (experts == 0) return (p.ep > 1 ? ep : etp) + " for a model without experts";
  return ep + " (" + etp + ", 1 or tp) must divide " + std::to_string(experts) +
         " experts and, times etp, the " + std::to_string(std::int64_t{p.dp} * p.cp * p.tp) +
         " ranks of dp x cp x tp";
}

std::string schedule_rule(const Plan& p) {
  if (p.interleave > 1 || p.schedule == Schedule::kInterleaved) {
    return "interleaving needs pp > 1, the interleaved schedule and a multiple of pp micro-batches";
  }
  if (p.pp > 1 && p.schedule == Schedule::kDualPipe) {
    return "dualpipe fills from both ends: it needs an even pp and an even number of micro-batches, at least 2 x pp";
  }
  return "a schedule other than 1f1b needs pp > 1";
}

std::string zero_rule(const Framework& framework, const Plan& p) {
  const std::string stage = "ZeRO " + std::to_string(p.zero_stage);
  const std::int64_t replicas = dense_replicas(p).count;
  if (p.zero_stage > 0 && replicas == 1) return stage + " with one replica has nothing to shard over";
  if (!framework.zero[static_cast<std::size_t>(p.zero_stage)].allowed)
    return framework.name + " has no ZeRO stage " + std::to_string(p.zero_stage);
  if (p.shard_group > 0 && p.zero_stage == 0) return "a shard group needs ZeRO 1 or more";
  if (p.shard_group > 0 && replicas % p.shard_group != 0)
    return says("shard group", p.shard_group, replicas, "replicas (dp x cp)");
  if (!framework.offload) return framework.name + " offloads no optimizer and no parameters";
  if (p.offloads(Offload::kParameters) && !framework.offload->parameters)
    return framework.name + " offloads no parameters";
  if (p.offloads(Offload::kParameters) != p.offloads(Offload::kOptimizer))
    return framework.name + " offloads parameters and optimizer together";
  if (p.offloads(Offload::kParameters)) return "parameters are offloaded shard by shard: that needs ZeRO 3";
  return "the experts of a shard group do not divide their replicas";
}

/// Ways to deal layers to chunks of which those between the ends hold equally many, smaller largest chunks
/// first.
std::vector<Dealing> uneven_dealings(std::int64_t layers, std::int64_t chunks) {
  std::vector<Dealing> found;
  const std::int64_t between = chunks - 2;
  if (between < 0) return found;
  const auto add = [&](std::int64_t first, std::int64_t last, std::int64_t each, std::int64_t largest) {
    found.push_back({static_cast<std::int16_t>(first), static_cast<std::int16_t>(last),
                     static_cast<std::int16_t>(each), static_cast<std::int16_t>(largest)});
  };
  for (std::int64_t largest = 1; largest < layers; ++largest) {
    for (std::int64_t each = between > 0 ? 1 : 0; each <= largest; ++each) {
      const std::int64_t ends = layers - each * between;
      if (ends < 2 || (between == 0 && each > 0)) break;
      if (ends > 2 * largest) continue;
      const std::int64_t least = std::max<std::int64_t>(1, ends - largest);
      if (each == largest) {
        for (std::int64_t first = least; first <= ends - least; ++first)
          add(first, ends - first, each, largest);
      } else if (ends > largest) {
        add(largest, ends - largest, each, largest);
        if (ends != 2 * largest) add(ends - largest, largest, each, largest);
      }
    }
  }
  return found;
}

/// Whether every chunk holds what it holds where all are dealt evenly.
bool is_even(std::int64_t layers, std::int64_t chunks, const Dealing& dealing) {
  if (dealing.first != even_share(layers, chunks, 0).count()) return false;
  if (dealing.last != even_share(layers, chunks, chunks - 1).count()) return false;
  // Those between are alike: they are what the even ones are if all of these are.
  return chunks == 2 ||
         even_share(layers, chunks, 1).count() == even_share(layers, chunks, chunks - 2).count();
}

}  // namespace

const char* name(Constraint constraint) {
  static constexpr std::array<const char*, kConstraintCount> kNames{
      "gpu_count", "heads", "widths", "layers",      "sequence", "experts",    "batch",
      "schedule",  "zero",  "state",  "activations", "logits",   "transients", "host_memory"};
  return kNames[static_cast<std::size_t>(constraint)];
}

Plan with_state(Plan plan, const Plan& state) {
  plan.zero_stage = state.zero_stage;
  plan.shard_group = state.shard_group;
  plan.offload = state.offload;
  return plan;
}

Plan dealt(Plan plan, const Dealing& dealing) {
  plan.first_layers = dealing.first;
  plan.last_layers = dealing.last;
  return plan;
}

RankLayers rank_layers(const Plan& plan, const Dealing& dealing) {
  const std::int64_t each = dealing.between, first = dealing.even() ? each : dealing.first,
                     last = dealing.even() ? each : dealing.last;
  const std::int64_t before = first + (plan.pp - 2) * each;
  if (plan.schedule == Schedule::kZbV || plan.schedule == Schedule::kDualPipe)
    return {std::max(first + last, 2 * each), first + last, before};
  const std::int64_t others = (plan.interleave - 1) * each;
  return {others + std::max<std::int64_t>(dealing.largest, each), others + last, before};
}

std::int64_t LayoutPlans::count(const Pipeline& pipeline) const {
  const auto ways = static_cast<std::int64_t>(pipeline.dealings->all.size());
  const std::int64_t in_part = layers_in_part ? pipeline.dealings->largest - ways : 0;
  return (ways * static_cast<std::int64_t>(recomputes.size()) + in_part) *
         static_cast<std::int64_t>(states.size());
}

std::int64_t LayoutPlans::count(const std::vector<Pipeline>& of_micro_batch) const {
  std::int64_t sum = 0;
  for (const Pipeline& pipeline : of_micro_batch) sum += count(pipeline);
  return sum;
}

std::int64_t LayoutPlans::count() const {
  std::int64_t sum = 0;
  for (const auto& of_micro_batch : pipelines) sum += count(of_micro_batch);
  return sum;
}

std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t i = 1; i * i <= n; ++i) {
    if (n % i != 0) continue;
    low.push_back(i);
    if (i != n / i) high.push_back(n / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

Space::Space(const Question& question)
    : question_(question), layers_(static_cast<std::int64_t>(question.model.layers.size())) {
  const Limits limits{heads_, widths_, experts_, expert_widths_, kv_heads_};
  for (const Layer& layer : question.model.layers) {
    std::visit(limits, layer.mixer);
    std::visit(limits, layer.mlp);
  }
  std::sort(kv_heads_.begin(), kv_heads_.end());
  kv_heads_.erase(std::unique(kv_heads_.begin(), kv_heads_.end()), kv_heads_.end());
  list_recomputes();
  list_dealings();
}

void Space::list_recomputes() {
  recomputes_ = {Recompute::kNone, Recompute::kSelective, Recompute::kFull};
  // The closed forms of the paper know of no other module.
  if (!question_.framework.engine.recomputed_modules || question_.activations == ActivationModel::kPaper)
    return;
  for (const std::uint8_t modules : module_sets(question_.model))
    recomputes_.push_back(Recompute::of_modules(modules));
}

void Space::list_dealings() {
  const auto most = static_cast<std::size_t>(layers_);
  dealings_.resize(most + 1);
  uneven_.resize(most + 1);
  for (std::int64_t chunks = 1; chunks <= layers_; ++chunks) {
    const auto at = static_cast<std::size_t>(chunks);
    const auto largest = static_cast<std::int16_t>((layers_ + chunks - 1) / chunks);
    const auto least = static_cast<std::int16_t>(layers_ / chunks);
    dealings_[at] = {{{Plan::kEven, Plan::kEven, least, largest}}, largest};
    std::vector<Dealing>& uneven = uneven_[at].all;
    if (question_.framework.engine.uneven_ends) uneven = uneven_dealings(layers_, chunks);
    for (const Dealing& dealing : uneven) {
      uneven_[at].largest += dealing.largest;
      if (is_even(layers_, chunks, dealing)) continue;
      dealings_[at].all.push_back(dealing);
      dealings_[at].largest += dealing.largest;
    }
  }
}

bool Space::kv_heads_allow(std::int64_t tp) const {
  // Fewer key-value heads than ranks: each head is replicated, which needs whole multiples.
  return std::all_of(kv_heads_.begin(), kv_heads_.end(),
                     [&](std::int64_t kv) { return divides(tp, kv) || divides(kv, tp); });
}

bool Space::layers_allow(const Plan& p) const {
  const std::int64_t chunks = all_chunks(p), own = chunks_told_apart(p);
  const std::int64_t dealt = layers_ - std::max<int>(0, p.first_layers) - std::max<int>(0, p.last_layers);
  if (own > chunks || dealt < chunks - own) return false;
  return chunks == p.pp || question_.workload.uneven_chunks || chunks == own || divides(chunks - own, dealt);
}

bool Space::experts_allow(const Plan& p) const {
  if (p.ep == 1 && p.etp == 1) return true;
  const std::int64_t ranks = std::int64_t{p.dp} * p.cp * p.tp;
  return experts_ > 0 && divides(p.ep, experts_) && (p.etp == 1 || p.etp == p.tp) &&
         divides(std::int64_t{p.ep} * p.etp, ranks);
}

bool Space::batch_allows(const Plan& p) const {
  const std::int64_t batch = question_.workload.global_batch;
  return batch == 0 || std::int64_t{p.dp} * p.micro_batch * p.grad_accumulation == batch;
}

bool Space::state_allowed(const Plan& p) const {
  return question_.framework.zero[static_cast<std::size_t>(p.zero_stage)].allowed &&
         (p.zero_stage == 0 || p.dp * p.cp > 1) && shard_group_allowed(p) && offload_allowed(p);
}

std::optional<Constraint> Space::first_broken(const Plan& p) const {
  const Training& w = question_.workload;
  if (p.gpus() != question_.cluster.gpus) return Constraint::kGpuCount;
  if (!divides(p.tp, heads_) || !kv_heads_allow(p.tp)) return Constraint::kHeads;
  if (!divides(p.tp, widths_) || !divides(p.etp, expert_widths_)) return Constraint::kWidths;
  if (!layers_allow(p)) return Constraint::kLayers;
  // Causal context parallelism gives each rank two slices, an early and a late one, to balance the work.
  const std::int64_t slices = p.cp > 1 ? 2 * std::int64_t{p.cp} : 1;
  if (!divides(slices, w.sequence) ||
      (p.sequence_parallel && !divides(std::int64_t{p.cp} * p.tp, w.sequence))) {
    return Constraint::kSequence;
  }
  if (!experts_allow(p)) return Constraint::kExperts;
  if (!batch_allows(p)) return Constraint::kBatch;
  if (!schedule_allows(p)) return Constraint::kSchedule;
  if (!state_allowed(p)) return Constraint::kZero;
  if (p.sequence_parallel && p.tp == 1) return Constraint::kSequence;
  return std::nullopt;
}

bool Space::shard_group_allowed(const Plan& p) const {
  if (p.shard_group == 0) return true;
  return p.zero_stage > 0 && divides(p.shard_group, std::int64_t{p.dp} * p.cp) &&
         expert_replicas(p).count % expert_shard_group(p).count == 0;
}

bool Space::offload_allowed(const Plan& p) const {
  const bool optimizer = p.offloads(Offload::kOptimizer), parameters = p.offloads(Offload::kParameters);
  if (!optimizer && !parameters) return true;
  const auto& host = question_.framework.offload;
  if (!host || (optimizer && !parameters && host->only_with_parameters)) return false;
  // Parameters leave shard by shard; where nothing is divided, the one shard is the whole.
  const bool whole = std::int64_t{p.dp} * p.cp == 1;
  return !parameters || (host->parameters && optimizer && (p.zero_stage == 3 || whole));
}

std::optional<Violation> Space::violation(const Plan& p) const {
  const auto broken = first_broken(p);
  if (!broken) return std::nullopt;
  const auto num = [](std::int64_t v) { return std::to_string(v); };
  Violation v{*broken, 0, 0, {}};
  const auto set = [&](std::int64_t required, std::int64_t available, std::string where) {
    v.required = static_cast<double>(required);
    v.available = static_cast<double>(available);
    v.where = std::move(where);
  };
  const std::int64_t batch = question_.workload.global_batch, sequence = question_.workload.sequence;
  switch (*broken) {
    case Constraint::kGpuCount:
      set(p.gpus(), question_.cluster.gpus,
          "dp " + num(p.dp) + " x tp " + num(p.tp) + " x pp " + num(p.pp) + " x cp " + num(p.cp) + " = " +
              num(p.gpus()) + ", and there are " + num(question_.cluster.gpus) + " GPUs");
      break;
    case Constraint::kHeads:
      set(p.tp, heads_,
          divides(p.tp, heads_)
              ? "tp " + num(p.tp) + " neither divides nor is a multiple of the key-value heads"
              : says("tp", p.tp, heads_, "attention heads"));
      break;
    case Constraint::kWidths:
      if (!divides(p.tp, widths_)) {
        set(p.tp, widths_, says("tp", p.tp, widths_, "(MLP width)"));
      } else {
        set(p.etp, expert_widths_, says("etp", p.etp, expert_widths_, "(expert width)"));
      }
      break;
    case Constraint::kLayers:
      set(all_chunks(p), layers_,
          "pp " + num(p.pp) + " x " +
              (p.schedule == Schedule::kZbV ? "2 (zb-v)" : "interleave " + num(p.interleave)) +
              " chunks over " + num(layers_) +
              " layers: at least one layer a chunk, and equal chunks when a rank has several");
      break;
    case Constraint::kSequence:
      set(std::int64_t{p.cp} * p.tp, sequence,
          p.tp == 1 && p.sequence_parallel ? "sequence parallelism needs tp > 1"
                                           : "cp " + num(p.cp) + " (two slices each) and tp " + num(p.tp) +
                                                 " must divide the sequence of " + num(sequence) + " tokens");
      break;
    case Constraint::kExperts:
      set(p.ep, experts_, expert_rule(p, experts_));
      break;
    case Constraint::kBatch:
      set(std::int64_t{p.dp} * p.micro_batch * p.grad_accumulation, batch,
          "dp " + num(p.dp) + " x micro-batch " + num(p.micro_batch) + " x " + num(p.grad_accumulation) +
              " micro-batches is not the global batch of " + num(batch) + " sequences");
      break;
    case Constraint::kSchedule:
      set(p.interleave, p.pp,
          std::string("schedule ") + name(p.schedule) + " with interleave " + num(p.interleave) + ", pp " +
              num(p.pp) + " and " + num(p.grad_accumulation) + " micro-batches: " + schedule_rule(p));
      break;
    case Constraint::kZero:
      set(p.zero_stage, 0, zero_rule(question_.framework, p));
      break;
    default:
      break;
  }
  return v;
}

std::vector<Pipeline> Space::pipelines_of(const Plan& layout, const FixedAxes& fixed,
                                          std::int64_t micro_batches, std::int32_t micro_batch) const {
  Plan p = layout;
  p.micro_batch = micro_batch;
  p.grad_accumulation = static_cast<std::int32_t>(micro_batches);
  std::vector<std::int32_t> all(p.pp > 1 ? static_cast<std::size_t>(layers_ / p.pp) : 1);
  std::iota(all.begin(), all.end(), 1);
  const auto interleaves = choices(fixed.interleave, std::move(all));
  // Who tells of interleaving has told the schedule.
  const bool interleaved = fixed.interleave && *fixed.interleave > 1;
  const auto schedules = interleaved && !fixed.schedule
                             ? std::vector<Schedule>{Schedule::kInterleaved}
                             : choices(fixed.schedule, question_.framework.engine.schedules);
  std::vector<Pipeline> found;
  for (const auto interleave : interleaves) {
    if (!fixed.bounds_of(Degree::kInterleave).hold(interleave)) continue;
    p.interleave = interleave;
    for (const Schedule schedule : schedules) {
      p.schedule = schedule;
      if (all_chunks(p) > layers_) continue;
      const auto chunks = static_cast<std::size_t>(all_chunks(p));
      if (!first_broken(p)) {
        found.push_back({p, &dealings_[chunks]});
      } else if (!uneven_[chunks].all.empty() && !first_broken(dealt(p, uneven_[chunks].all.front()))) {
        found.push_back({p, &uneven_[chunks]});
      }
    }
  }
  return found;
}

std::vector<Plan> Space::states_of(const Plan& layout, const FixedAxes& fixed) const {
  const std::int32_t replicas = layout.dp * layout.cp;
  std::vector<std::int32_t> groups{0};
  if (question_.framework.engine.shard_groups) {
    // A group of one shards nothing, one of all is 0.
    for (const auto group : narrow(divisors(replicas)))
      if (group > 1 && group < replicas) groups.push_back(group);
  }
  std::vector<Plan> found;
  Plan p = layout;
  std::vector<std::uint8_t> offloads{0};
  // What a host has no known room for is for who asks for it.
  if (question_.cluster.host_memory && question_.cluster.device.pcie_bandwidth) {
    for (std::uint8_t offload = 1; offload < 1U << kOffloadCount; ++offload) offloads.push_back(offload);
  }
  for (const auto stage : choices(fixed.zero_stage, std::vector<std::int8_t>{0, 1, 2, 3})) {
    if (!fixed.bounds_of(Degree::kZero).hold(stage)) continue;
    p.zero_stage = stage;
    for (const auto group : choices(fixed.shard_group, groups)) {
      if (group > 0 && !fixed.shard_group && stage < question_.framework.engine.shard_groups_from) continue;
      p.shard_group = group;
      if (!fixed.bounds_of(Degree::kShardGroup).hold(degree_of(p, Degree::kShardGroup))) continue;
      for (const auto offload : choices(fixed.offload, offloads)) {
        p.offload = offload;
        if (state_allowed(p)) found.push_back(p);
      }
    }
  }
  return found;
}

LayoutPlans Space::plans_of(const Plan& layout, const FixedAxes& fixed) const {
  LayoutPlans plans;
  // Without a global batch each replica runs as many micro-batches as there are stages, of one sequence if
  // not said.
  const bool open = question_.workload.global_batch == 0;
  Plan filling = layout;
  filling.schedule = fixed.schedule.value_or(Schedule::k1F1B);
  const std::int64_t batch =
      open ? std::int64_t{layout.dp} * filling_micro_batches(filling) * fixed.micro_batch.value_or(1)
           : question_.workload.global_batch;
  if (batch % layout.dp != 0) return plans;
  plans.states = states_of(layout, fixed);
  if (plans.states.empty()) return plans;
  const std::int64_t own = batch / layout.dp;
  // The pipelines are asked with a state that is legal.
  const Plan legal = with_state(layout, plans.states.front());
  for (const auto micro_batch :
       choices(fixed.micro_batch, open ? std::vector<std::int32_t>{1} : narrow(divisors(own)))) {
    if (micro_batch < 1 || own % micro_batch != 0) continue;
    if (!fixed.bounds_of(Degree::kMicroBatch).hold(micro_batch)) continue;
    auto pipelines = pipelines_of(legal, fixed, own / micro_batch, micro_batch);
    if (!pipelines.empty()) plans.pipelines.push_back(std::move(pipelines));
  }
  plans.recomputes = choices(fixed.recompute, recomputes_);
  plans.layers_in_part = !fixed.recompute && question_.framework.engine.recomputed_layers;
  return plans;
}

Plan LayoutPlans::plan(std::int64_t i) const {
  const auto kept = static_cast<std::int64_t>(states.size());
  for (const auto& of_micro_batch : pipelines) {
    const std::int64_t here = count(of_micro_batch);
    if (i >= here) {
      i -= here;
      continue;
    }
    const Plan& state = states[static_cast<std::size_t>(i % kept)];
    i /= kept;
    for (const Pipeline& pipeline : of_micro_batch) {
      const std::vector<Dealing>& dealings = pipeline.dealings->all;
      const auto ways = static_cast<std::int64_t>(dealings.size());
      const std::int64_t whole = ways * static_cast<std::int64_t>(recomputes.size());
      Plan plan = pipeline.plan;
      if (i < whole) {
        plan = dealt(plan, dealings[static_cast<std::size_t>(i % ways)]);
        plan.recompute = recomputes[static_cast<std::size_t>(i / ways)];
        return with_state(plan, state);
      }
      i -= whole;
      for (const Dealing& dealing : dealings) {
        const std::int32_t parts = most_in_part(dealing);
        if (i < parts) {
          plan = dealt(plan, dealing);
          plan.recompute = Recompute::block(static_cast<std::int32_t>(i) + 1);
          return with_state(plan, state);
        }
        i -= parts;
      }
    }
  }
  return {};
}

std::int64_t Space::for_each_of(const Plan& layout, const FixedAxes& fixed,
                                const std::function<void(const Plan&)>& visit) const {
  const LayoutPlans plans = plans_of(layout, fixed);
  const auto each_state = [&](const Plan& plan) {
    for (const Plan& state : plans.states) visit(with_state(plan, state));
  };
  for (const auto& of_micro_batch : plans.pipelines) {
    for (const Pipeline& pipeline : of_micro_batch) {
      Plan plan = pipeline.plan;
      for (const Recompute& recompute : plans.recomputes) {
        plan.recompute = recompute;
        for (const Dealing& dealing : pipeline.dealings->all) each_state(dealt(plan, dealing));
      }
      for (const Dealing& dealing : pipeline.dealings->all) {
        for (std::int32_t n = 1; n <= plans.most_in_part(dealing); ++n) {
          plan.recompute = Recompute::block(n);
          each_state(dealt(plan, dealing));
        }
      }
    }
  }
  return plans.count();
}

void Space::for_some(const FixedAxes& fixed, std::int64_t of_each_layout,
                     const std::function<void(const Plan&)>& visit) const {
  for (const Plan& layout : layouts(fixed)) {
    const LayoutPlans plans = plans_of(layout, fixed);
    const std::int64_t all = plans.count(), some = std::min(all, of_each_layout);
    for (std::int64_t i = 0; i < some; ++i) visit(plans.plan(i * all / some));
  }
}

std::int64_t Space::count(const FixedAxes& fixed) const {
  std::int64_t sum = 0;
  for (const Plan& layout : layouts(fixed)) sum += plans_of(layout, fixed).count();
  return sum;
}

std::vector<Plan> Space::layouts(const FixedAxes& fixed) const {
  std::vector<Plan> found;
  const std::int64_t gpus = question_.cluster.gpus;
  const auto degrees = narrow(divisors(gpus));
  // Experts with tensor parallelism need sequence parallelism (megatron/core/model_parallel_config.py).
  const bool keeps_whole_sequences = question_.framework.engine.whole_sequences && experts_ == 0;
  Plan p;
  for (const auto tp : choices(fixed.tp, degrees)) {
    if (tp < 1 || gpus % tp != 0 || !divides(tp, heads_) || !divides(tp, widths_) || !kv_heads_allow(tp))
      continue;
    p.tp = tp;
    for (const auto cp : choices(fixed.cp, degrees)) {
      if (cp < 1 || (gpus / tp) % cp != 0) continue;
      p.cp = cp;
      for (const auto pp : choices(fixed.pp, degrees)) {
        if (pp < 1 || (gpus / tp / cp) % pp != 0 || pp > layers_) continue;
        p.pp = pp;
        p.dp = static_cast<std::int32_t>(gpus / tp / cp / pp);
        if (fixed.dp && *fixed.dp != p.dp) continue;
        const std::int64_t ranks = gpus / pp;
        for (const auto ep : choices(fixed.ep, experts_ > 0 ? narrow(divisors(std::gcd(experts_, ranks)))
                                                            : std::vector<std::int32_t>{1})) {
          p.ep = ep;
          const auto expert_tensor =
              experts_ > 0 && tp > 1 ? std::vector<std::int32_t>{1, tp} : std::vector<std::int32_t>{1};
          for (const auto etp : choices(fixed.etp, expert_tensor)) {
            p.etp = etp;
            if (!within_bounds(fixed, p)) continue;
            p.sequence_parallel = fixed.sequence_parallel.value_or(tp > 1);
            found.push_back(p);
            if (!p.sequence_parallel || fixed.sequence_parallel || !keeps_whole_sequences) continue;
            p.sequence_parallel = false;
            found.push_back(p);
          }
        }
      }
    }
  }
  return found;
}

std::int64_t Space::for_each(const FixedAxes& fixed, const std::function<void(const Plan&)>& visit) const {
  std::int64_t visited = 0;
  for (const Plan& layout : layouts(fixed)) visited += for_each_of(layout, fixed, visit);
  return visited;
}

}  // namespace shardplan
