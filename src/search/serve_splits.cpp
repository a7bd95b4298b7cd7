#include "search/serve_splits.h"

#include <algorithm>
#include <cstdlib>

namespace shardplan {
namespace {

void keep(std::vector<std::int64_t>& distinct, std::int64_t value) {
  if (value > 0 && std::find(distinct.begin(), distinct.end(), value) == distinct.end())
    distinct.push_back(value);
}

struct Heads {
  std::vector<std::int64_t>&all, &kv;
  void operator()(const Attention& a) {
    keep(all, a.heads);
    keep(kv, a.kv_heads);
  }
  void operator()(const LatentAttention& l) { keep(all, l.heads); }
  void operator()(const GatedDeltaNet& g) {
    keep(all, g.value_heads);
    keep(all, g.key_heads);
  }
  void operator()(const Mamba2& m) { keep(all, m.heads); }
  void operator()(const OtherMixer& o) { keep(all, o.heads); }
  void operator()(const NoMixer&) {}
};

std::vector<std::int64_t> divisors_of(std::int64_t n) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 1; i <= n; ++i)
    if (n % i == 0) found.push_back(i);
  return found;
}

std::string text(std::int64_t n) { return std::to_string(n); }

}  // namespace

SplitRules::SplitRules(const ServeQuestion& question) : question_(question) {
  const Model& model = question.question.model;
  layers_ = static_cast<std::int64_t>(model.layers.size());
  const Layer* last = nullptr;
  for (const Layer& layer : model.layers) {
    if (last != nullptr && *last == layer) continue;
    last = &layer;
    std::visit(Heads{heads_, kv_heads_}, layer.mixer);
    if (const auto* dense = std::get_if<DenseMlp>(&layer.mlp)) keep(widths_, dense->width);
    if (const auto* moe = std::get_if<MoeMlp>(&layer.mlp)) {
      experts_ = moe->experts;
      keep(widths_, moe->shared_width);
      keep(expert_widths_, moe->width);
    }
  }
}

/// What a tensor degree cannot cut.
std::optional<std::string> SplitRules::uncut(std::int64_t tensor) const {
  for (const std::int64_t heads : heads_)
    if (heads % tensor != 0) return text(heads) + " heads";
  for (const std::int64_t kv : kv_heads_)
    if (kv % tensor != 0 && tensor % kv != 0) return text(kv) + " key-value heads";
  for (const std::int64_t width : widths_) {
    if (width % tensor != 0) return "an MLP of width " + text(width);
    if (width / tensor % question_.format.block != 0)
      return "an MLP of width " + text(width) + " in blocks of " + text(question_.format.block);
  }
  return std::nullopt;
}

std::optional<BrokenSplit> SplitRules::first_broken(const ServeSplit& s) const {
  const std::int64_t gpus = question_.question.cluster.gpus;
  if (const auto what = uncut(s.tensor))
    return BrokenSplit{"--tp", "tensor parallelism " + text(s.tensor) + " does not divide " + *what,
                       "a degree that divides heads, key-value heads and MLP widths", 0};
  if (s.pipeline > layers_)
    return BrokenSplit{"--pp", text(s.pipeline) + " pipeline stages of " + text(layers_) + " layers",
                       "at least one layer a stage", 0};
  if (s.data > 1 && experts_ == 0)
    return BrokenSplit{"--dp-attention", "a dense model has no experts to share: groups would be replicas",
                       "1, or --gpus for more replicas", 0};
  if (s.data > 1 && experts_ % s.stage_gpus() != 0)
    return BrokenSplit{"--dp-attention",
                       text(s.stage_gpus()) + " GPUs of a stage do not divide " + text(experts_) + " experts",
                       "tp x dp-attention that divides them", 0};
  if (s.data == 1 && whole_experts(s) && experts_ % s.tensor != 0)
    return BrokenSplit{
        "--tp", text(s.tensor) + " divides neither the widths of the experts nor their " + text(experts_),
        "a degree that divides one of them", 0};
  if (gpus % s.gpus() != 0)
    return BrokenSplit{
        s.pipeline > 1 ? "--tp, --pp" : "--tp",
        "a replica of " + text(s.gpus()) + " GPUs does not divide the " + text(gpus) + " there are",
        "replicas that use every GPU", 0};
  return std::nullopt;
}

std::optional<BrokenSplit> SplitRules::broken(const ServeSplit& split) const {
  std::optional<BrokenSplit> found = first_broken(split);
  if (!found) return found;
  const std::string flag = found->flag;
  std::int64_t ServeSplit::*axis = flag.starts_with("--tp")   ? &ServeSplit::tensor
                                   : flag.starts_with("--pp") ? &ServeSplit::pipeline
                                                              : &ServeSplit::data;
  const std::int64_t told = split.*axis;
  for (std::int64_t value = 1; value <= question_.question.cluster.gpus; ++value) {
    ServeSplit other = split;
    other.*axis = value;
    if (first_broken(other)) continue;
    if (found->nearest == 0 || std::abs(value - told) < std::abs(found->nearest - told))
      found->nearest = value;
  }
  return found;
}

bool SplitRules::whole_experts(const ServeSplit& split) const {
  return std::any_of(expert_widths_.begin(), expert_widths_.end(), [&](std::int64_t width) {
    return width % split.tensor != 0 || width / split.tensor % question_.format.block != 0;
  });
}

std::vector<ServeSplit> SplitRules::all() const {
  std::vector<ServeSplit> found;
  const std::vector<std::int64_t> degrees = divisors_of(question_.question.cluster.gpus);
  const auto agrees = [](const std::optional<std::int64_t>& told, std::int64_t value) {
    return !told || *told == value;
  };
  for (const std::int64_t tensor : degrees) {
    if (!agrees(question_.tensor, tensor) || uncut(tensor)) continue;
    for (const std::int64_t pipeline : degrees) {
      if (!agrees(question_.pipeline, pipeline) || pipeline > layers_) continue;
      for (const std::int64_t data : degrees) {
        const ServeSplit split{tensor, pipeline, data};
        if (agrees(question_.data, data) && !first_broken(split)) found.push_back(split);
      }
    }
  }
  return found;
}

}  // namespace shardplan
