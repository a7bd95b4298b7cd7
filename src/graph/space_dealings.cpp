// The ways to deal a model's layers to the chunks of its pipeline: evenly, or with the first and the last one
// apart.
#include <algorithm>

#include "graph/space.h"
#include "graph/stages.h"

namespace shardplan {
namespace {

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

/// Whether so many layers of the first or the last chunk agree with what is told of it.
bool end_allows(const FixedAxes& fixed, Degree end, const Dealing& dealing, std::int64_t layers) {
  const auto& told = end == Degree::kFirstLayers ? fixed.first_layers : fixed.last_layers;
  if (told == 0 && !dealing.even() && layers != dealing.between) return false;
  return (told.value_or(0) == 0 || *told == layers) &&
         fixed.bounds_of(end).hold(static_cast<std::int32_t>(layers));
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
    return {std::max(first + last, 2 * each), first + last, before, 0};
  const std::int64_t others = (plan.interleave - 1) * each;
  // Of two ranks each has an end.
  const std::int64_t beside =
      dealing.even() ? dealing.largest : std::max({first, last, plan.pp > 2 ? each : 0});
  return {others + beside, others + last, before, beside};
}

Dealings::Dealings(std::vector<Dealing> dealings) : all(std::move(dealings)), largest_from(all.size() + 1) {
  for (std::size_t i = all.size(); i > 0; --i) largest_from[i - 1] = largest_from[i] + all[i - 1].largest;
}

std::vector<Dealing> Space::ways_to_deal(std::int64_t chunks, bool even, bool uneven) const {
  std::vector<Dealing> ways = uneven ? uneven_dealings(layers_, chunks) : std::vector<Dealing>{};
  if (!even) return ways;
  std::erase_if(ways, [&](const Dealing& dealing) { return is_even(layers_, chunks, dealing); });
  const auto largest = static_cast<std::int16_t>((layers_ + chunks - 1) / chunks);
  const auto least = static_cast<std::int16_t>(layers_ / chunks);
  ways.insert(ways.begin(), {Plan::kEven, Plan::kEven, least, largest});
  return ways;
}

/// Who tells how many layers an end has is answered in it, whatever else is searched.
std::vector<Dealing> Space::told_ways(std::int64_t chunks, bool even, const FixedAxes& fixed) const {
  const bool told = fixed.told(Degree::kFirstLayers) || fixed.told(Degree::kLastLayers);
  const bool can = question_.framework.engine.uneven_ends.has_value();
  std::vector<Dealing> ways = can && question_.whole_space
                                  ? (even ? dealings_ : uneven_)[static_cast<std::size_t>(chunks)].all
                                  : ways_to_deal(chunks, even, told || (can && fixed.bounds_ends()));
  std::erase_if(ways, [&](const Dealing& d) {
    const std::int64_t first = d.even() ? even_share(layers_, chunks, 0).count() : d.first;
    const std::int64_t last = d.even() ? even_share(layers_, chunks, chunks - 1).count() : d.last;
    return !end_allows(fixed, Degree::kFirstLayers, d, first) ||
           !end_allows(fixed, Degree::kLastLayers, d, last);
  });
  return ways;
}

void Space::list_dealings() {
  const auto most = static_cast<std::size_t>(layers_);
  const bool ends = question_.whole_space && question_.framework.engine.uneven_ends;
  dealings_.assign(1, Dealings({}));
  uneven_.assign(1, Dealings({}));
  dealings_.reserve(most + 1);
  uneven_.reserve(most + 1);
  for (std::int64_t chunks = 1; chunks <= layers_; ++chunks) {
    dealings_.emplace_back(ways_to_deal(chunks, true, ends));
    uneven_.emplace_back(ways_to_deal(chunks, false, ends));
  }
}

const Dealings* Space::dealings_of(const Plan& plan, const FixedAxes& fixed, ToldDealings* told) const {
  const std::int64_t chunks = all_chunks(plan);
  const bool even = layers_allow(plan);
  const Dealings* dealings = nullptr;
  if (told != nullptr) {
    auto at = told->find({chunks, even});
    if (at == told->end())
      at = told->emplace(std::pair{chunks, even}, Dealings(told_ways(chunks, even, fixed))).first;
    dealings = &at->second;
  } else {
    dealings = &(even ? dealings_ : uneven_)[static_cast<std::size_t>(chunks)];
  }
  if (dealings->all.empty()) return nullptr;
  return even || layers_allow(dealt(plan, dealings->all.front())) ? dealings : nullptr;
}

}  // namespace shardplan
