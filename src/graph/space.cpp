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

/// Both orders number the ranks alike, as they differ in axes of one rank.
bool same_numbering(const Plan& layout, RankOrder a, RankOrder b) {
  const auto numbers = [&](RankAxis axis) { return degree_of(layout, axis) > 1; };
  auto other = b.axes().begin();
  return std::all_of(a.axes().begin(), a.axes().end(), [&](RankAxis axis) {
    if (!numbers(axis)) return true;
    while (!numbers(*other)) ++other;
    return *other++ == axis;
  });
}

bool schedule_allows(const Plan& p) {
  const bool interleaved = p.interleave > 1;
  if (interleaved != (p.schedule == Schedule::kInterleaved)) return false;
  if (p.pp == 1 && p.schedule != Schedule::k1F1B) return false;
  if (interleaved && p.grad_accumulation % p.pp != 0) return false;
  return p.schedule != Schedule::kDualPipe ||
         (p.pp % 2 == 0 && p.grad_accumulation % 2 == 0 && p.grad_accumulation >= filling_micro_batches(p));
}

}  // namespace

std::int64_t LayoutPlans::count(const Pipeline& pipeline, std::size_t from) const {
  const auto ways = static_cast<std::int64_t>(pipeline.dealings->all.size() - from);
  const std::int64_t each = (layers_in_part ? 1 : 0) + (layers_in_groups ? 1 : 0);
  const std::int64_t by_layer = each * (pipeline.dealings->largest_from[from] - ways);
  return (ways * static_cast<std::int64_t>(recomputes.size()) + by_layer) *
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
  if (!question_.whole_space || !question_.framework.engine.recomputed_modules ||
      question_.activations == ActivationModel::kPaper)
    return;
  for (const std::uint8_t modules : module_sets(question_.model))
    recomputes_.push_back(Recompute::of_modules(modules));
}

bool Space::kv_heads_allow(std::int64_t tp) const {
  // Fewer key-value heads than ranks: each head is replicated, which needs whole multiples.
  return std::all_of(kv_heads_.begin(), kv_heads_.end(),
                     [&](std::int64_t kv) { return divides(tp, kv) || divides(kv, tp); });
}

bool Space::layers_allow(const Plan& p) const {
  const std::int64_t chunks = all_chunks(p), own = chunks_told_apart(p);
  const std::int64_t dealt = layers_ - std::max<int>(0, p.first_layers) - std::max<int>(0, p.last_layers);
  // Chunks that are all told apart leave nothing to the others.
  if (own > chunks || dealt < chunks - own || (chunks == own && dealt != 0)) return false;
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
  return batch == 0 || p.sequences() == batch;
}

/// Of the shard group only whether it may have one.
bool Space::stage_allowed(const Plan& p) const {
  return question_.framework.zero[static_cast<std::size_t>(p.zero_stage)].allowed &&
         (p.zero_stage == 0 ? p.shard_group == 0 : p.replicas() > 1) && offload_allowed(p);
}

bool Space::state_allowed(const Plan& p) const { return stage_allowed(p) && shard_group_allowed(p); }

bool Space::sequence_allows(const Plan& p) const {
  // Causal context parallelism gives each rank two slices, an early and a late one, to balance the work.
  const std::int64_t slices = p.cp > 1 ? 2 * std::int64_t{p.cp} : 1, sequence = question_.workload.sequence;
  return divides(slices, sequence) &&
         (!p.sequence_parallel || (p.tp > 1 && divides(std::int64_t{p.cp} * p.tp, sequence)));
}

std::optional<Constraint> Space::layout_breaks(const Plan& p) const {
  if (p.gpus() != question_.cluster.gpus) return Constraint::kGpuCount;
  if (!divides(p.tp, heads_) || !kv_heads_allow(p.tp)) return Constraint::kHeads;
  if (!divides(p.tp, widths_) || !divides(p.etp, expert_widths_)) return Constraint::kWidths;
  if (!sequence_allows(p)) return Constraint::kSequence;
  if (!experts_allow(p)) return Constraint::kExperts;
  if (!rank_order_allowed(p)) return Constraint::kRankOrder;
  return std::nullopt;
}

std::optional<Constraint> Space::pipeline_breaks(const Plan& p) const {
  if (!layers_allow(p)) return Constraint::kLayers;
  if (!batch_allows(p)) return Constraint::kBatch;
  if (!schedule_allows(p)) return Constraint::kSchedule;
  return std::nullopt;
}

std::optional<Constraint> Space::first_broken(const Plan& p) const {
  if (const auto broken = layout_breaks(p)) return broken;
  if (const auto broken = pipeline_breaks(p)) return broken;
  if (!state_allowed(p)) return Constraint::kZero;
  return std::nullopt;
}

std::vector<Constraint> Space::all_broken(const Plan& p) const {
  std::vector<Constraint> broken;
  const auto hold = [&](bool kept, Constraint rule) {
    if (!kept) broken.push_back(rule);
  };
  hold(p.gpus() == question_.cluster.gpus, Constraint::kGpuCount);
  hold(divides(p.tp, heads_) && kv_heads_allow(p.tp), Constraint::kHeads);
  hold(divides(p.tp, widths_) && divides(p.etp, expert_widths_), Constraint::kWidths);
  hold(layers_allow(p), Constraint::kLayers);
  hold(sequence_allows(p), Constraint::kSequence);
  const bool experts = experts_allow(p);
  hold(experts, Constraint::kExperts);
  hold(batch_allows(p), Constraint::kBatch);
  hold(schedule_allows(p), Constraint::kSchedule);
  // Groups of experts are counted in ranks that their axes divide.
  hold(!experts || state_allowed(p), Constraint::kZero);
  hold(!experts || rank_order_allowed(p), Constraint::kRankOrder);
  return broken;
}

bool Space::shard_group_allowed(const Plan& p) {
  if (p.shard_group == 0) return true;
  return divides(p.shard_group, p.replicas()) && cuts_rows_evenly(dense_replicas(p), p.shard_group) &&
         expert_copies(p) % expert_shards(p) == 0 && cuts_rows_evenly(expert_replicas(p), expert_shards(p));
}

/// Of a dense model Megatron takes each MLP for an expert that is split by tensor parallelism.
bool Space::same_replicas(const Plan& p) const {
  if (p.pp == 1 || p.rank_order.axes().back() == RankAxis::kPp) return true;
  const std::int64_t experts = experts_ > 0 ? std::int64_t{p.ep} * p.etp : p.tp;
  return experts == std::int64_t{p.tp} * p.cp;
}

bool Space::rank_order_allowed(const Plan& p) const {
  if (p.rank_order.usual()) return true;
  // How chips that are not neighbours share a torus is not modelled.
  if (question_.cluster.torus) return false;
  if (question_.framework.engine.rank_orders_same_replicas && !same_replicas(p)) return false;
  // Experts lie inside one stage's consecutive ranks, as the pipeline's groups are the same for both
  // (megatron/core/parallel_state.py), and are split as the tensors beside them.
  const std::int64_t experts = std::int64_t{p.ep} * p.etp;
  return (experts == 1 || divides(experts, stage_ranks(p).in_row())) &&
         (p.etp == 1 || stride_of(p, RankAxis::kTp) == 1);
}

bool Space::offload_allowed(const Plan& p) const {
  const bool optimizer = p.offloads(Offload::kOptimizer), parameters = p.offloads(Offload::kParameters);
  if (!optimizer && !parameters) return true;
  const auto& host = question_.framework.offload;
  if (!host || (optimizer && !parameters && host->only_with_parameters)) return false;
  // Parameters leave shard by shard; where nothing is divided, the one shard is the whole.
  const bool whole = p.replicas() == 1;
  return !parameters || (host->parameters && optimizer && (p.zero_stage == 3 || whole));
}

/// Those that some micro-batch can have.
std::vector<Pipeline> Space::pipelines_of(const Plan& layout, const FixedAxes& fixed,
                                          ToldDealings* told) const {
  Plan p = layout;
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
      if (const Dealings* dealings = dealings_of(p, fixed, told)) found.push_back({p, dealings});
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
  groups = choices(fixed.shard_group, std::move(groups));
  std::vector<Plan> found;
  Plan p = layout;
  std::erase_if(groups, [&](std::int32_t group) {
    p.shard_group = group;
    return !shard_group_allowed(p);
  });
  std::vector<std::uint8_t> offloads{0};
  // What a host has no known room for is for who asks for it.
  if (question_.cluster.host_memory && question_.cluster.device.pcie_bandwidth) {
    for (std::uint8_t offload = 1; offload < 1U << kOffloadCount; ++offload) offloads.push_back(offload);
  }
  offloads = choices(fixed.offload, std::move(offloads));
  const auto stages = choices(fixed.zero_stage, std::vector<std::int8_t>{0, 1, 2, 3});
  found.reserve(stages.size() * groups.size() * offloads.size());
  for (const auto stage : stages) {
    if (!fixed.bounds_of(Degree::kZero).hold(stage)) continue;
    p.zero_stage = stage;
    for (const auto group : groups) {
      if (group > 0 && !fixed.shard_group && stage < question_.framework.engine.shard_groups_from) continue;
      p.shard_group = group;
      if (!fixed.bounds_of(Degree::kShardGroup).hold(degree_of(p, Degree::kShardGroup))) continue;
      for (const auto offload : offloads) {
        p.offload = offload;
        if (stage_allowed(p)) found.push_back(p);
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
  if (plans.states.empty() || layout_breaks(layout)) return plans;
  const auto told = fixed.tells_ends() ? std::make_shared<ToldDealings>() : nullptr;
  plans.told = told;
  const std::vector<Pipeline> pipelines = pipelines_of(layout, fixed, told.get());
  const std::int64_t own = batch / layout.dp;
  for (const auto micro_batch :
       choices(fixed.micro_batch, open ? std::vector<std::int32_t>{1} : narrow(divisors(own)))) {
    if (micro_batch < 1 || own % micro_batch != 0) continue;
    if (!fixed.bounds_of(Degree::kMicroBatch).hold(micro_batch)) continue;
    std::vector<Pipeline> own_pipelines;
    for (Pipeline pipeline : pipelines) {
      pipeline.plan.micro_batch = micro_batch;
      pipeline.plan.grad_accumulation = static_cast<std::int32_t>(own / micro_batch);
      if (batch_allows(pipeline.plan) && schedule_allows(pipeline.plan)) own_pipelines.push_back(pipeline);
    }
    if (!own_pipelines.empty()) plans.pipelines.push_back(std::move(own_pipelines));
  }
  plans.recomputes = choices(fixed.recompute, recomputes_);
  plans.layers_in_part = !fixed.recompute && question_.framework.engine.recomputed_layers;
  plans.layers_in_groups =
      !fixed.recompute && question_.whole_space && question_.framework.engine.recomputed_groups;
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
        const std::int64_t all = by_layers(dealing);
        if (i < all) {
          plan = dealt(plan, dealing);
          const auto n = static_cast<std::int32_t>(i), parts = most_in_part(dealing);
          plan.recompute = n < parts ? Recompute::block(n + 1) : Recompute::uniform(n - parts + 2);
          return with_state(plan, state);
        }
        i -= all;
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
        for (std::int32_t n = 2; n <= plans.most_in_group(dealing); ++n) {
          plan.recompute = Recompute::uniform(n);
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

/// The layout in each order of its ranks, once where orders differ in axes of degree 1 only.
void Space::add_orders(const Plan& layout, const FixedAxes& fixed, std::vector<Plan>& layouts) const {
  Plan p = layout;
  const std::vector<RankOrder>& orders = question_.framework.engine.rank_orders;
  if (fixed.rank_order || !question_.whole_space) {
    p.rank_order = fixed.rank_order.value_or(orders.front());
    layouts.push_back(p);
    return;
  }
  for (auto order = orders.begin(); order != orders.end(); ++order) {
    p.rank_order = *order;
    const bool seen = std::any_of(orders.begin(), order,
                                  [&](RankOrder other) { return same_numbering(layout, *order, other); });
    if (!seen && rank_order_allowed(p)) layouts.push_back(p);
  }
}

std::vector<Plan> Space::layouts(const FixedAxes& fixed) const {
  std::vector<Plan> found;
  const std::int64_t gpus = question_.cluster.gpus;
  const auto degrees = narrow(divisors(gpus));
  // Experts with tensor parallelism need sequence parallelism (megatron/core/model_parallel_config.py).
  const bool keeps_whole_sequences =
      question_.whole_space && question_.framework.engine.whole_sequences && experts_ == 0;
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
            add_orders(p, fixed, found);
            if (!p.sequence_parallel || fixed.sequence_parallel || !keeps_whole_sequences) continue;
            p.sequence_parallel = false;
            add_orders(p, fixed, found);
          }
        }
      }
    }
  }
  return found;
}

std::vector<char> Space::placed_as_earlier(const std::vector<Plan>& layouts) const {
  std::vector<char> found(layouts.size(), 0);
  if (!question_.whole_space) return found;  // one order of each
  std::vector<std::optional<Placed>> known;  // of the orders of one layout
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (i > 0 && !same_but_order(layouts[i - 1], layouts[i])) known.clear();
    const std::optional<Placed> own = placed(question_.cluster, layouts[i]);
    const bool alike =
        own && std::any_of(known.begin(), known.end(), [&](const std::optional<Placed>& other) {
          return other && other->stands_for(*own);
        });
    found[i] = alike ? 1 : 0;
    known.push_back(own);
  }
  return found;
}

std::int64_t Space::for_each(const FixedAxes& fixed, const std::function<void(const Plan&)>& visit) const {
  std::int64_t visited = 0;
  for (const Plan& layout : layouts(fixed)) visited += for_each_of(layout, fixed, visit);
  return visited;
}

}  // namespace shardplan
