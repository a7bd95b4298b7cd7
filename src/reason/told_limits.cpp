// What is told of a plan, as limits that can be taken back.
#include <type_traits>
#include <utility>

#include "reason/fitting_changes.h"

namespace shardplan {
namespace {

class Told {
 public:
  explicit Told(const FixedAxes& fixed) : fixed_(fixed) {}

  template <class T, class Words>
  void add(const char* id, std::optional<T> FixedAxes::*member, Words words) {
    const auto& value = fixed_.*member;
    if (!value) return;
    add(id, id + std::string(" ") + words(*value) + " is told",
        [member](FixedAxes& fixed) { (fixed.*member).reset(); });
    if constexpr (std::is_same_v<T, std::int32_t>) all_.back().limit.value = static_cast<double>(*value);
  }
  template <class T>
  void add_number(const char* id, std::optional<T> FixedAxes::*member) {
    add(id, member, [](T value) { return std::to_string(value); });
  }
  void add_bounds() {
    for (std::size_t i = 0; i < kDegreeCount; ++i) {
      const auto degree = static_cast<Degree>(i);
      const DegreeBounds& bounds = fixed_.bounds_of(degree);
      if (bounds == DegreeBounds{}) continue;
      add(name(degree), std::string(name(degree)) + " " + words(degree, bounds) + " is told",
          [degree](FixedAxes& fixed) { fixed.bounds_of(degree) = {}; });
    }
  }
  std::vector<ToldLimit> all() { return std::move(all_); }

 private:
  void add(const char* id, std::string statement, std::function<void(FixedAxes&)> free) {
    all_.push_back({Limit{id, std::move(statement), 0, ""}, std::move(free)});
  }
  const FixedAxes& fixed_;
  std::vector<ToldLimit> all_;
};

}  // namespace

std::vector<ToldLimit> told_limits(const FixedAxes& fixed) {
  Told told(fixed);
  told.add_number("dp", &FixedAxes::dp);
  told.add_number("tp", &FixedAxes::tp);
  told.add_number("pp", &FixedAxes::pp);
  told.add_number("cp", &FixedAxes::cp);
  told.add_number("ep", &FixedAxes::ep);
  told.add_number("etp", &FixedAxes::etp);
  told.add_number("micro-batch", &FixedAxes::micro_batch);
  told.add_number("interleave", &FixedAxes::interleave);
  told.add_number("zero", &FixedAxes::zero_stage);
  told.add("shard-group", &FixedAxes::shard_group,
           [](std::int32_t ranks) { return ranks == 0 ? std::string("all") : std::to_string(ranks); });
  told.add("schedule", &FixedAxes::schedule, [](Schedule s) { return std::string(name(s)); });
  told.add("recompute", &FixedAxes::recompute, [](const Recompute& r) { return name(r); });
  told.add("sp", &FixedAxes::sequence_parallel, [](bool on) { return std::string(on ? "on" : "off"); });
  told.add("rank-order", &FixedAxes::rank_order, [](RankOrder order) { return name(order); });
  told.add_number("first-layers", &FixedAxes::first_layers);
  told.add_number("last-layers", &FixedAxes::last_layers);
  if (fixed.offload.value_or(0) != 0)
    told.add("offload", &FixedAxes::offload, [](std::uint8_t what) { return offload_names(what); });
  told.add_bounds();
  return told.all();
}

}  // namespace shardplan
