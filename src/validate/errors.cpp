#include "validate/errors.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardplan {
namespace {

constexpr double kHalf = 0.5, kNineTenths = 0.9;

template <class Keys>
std::vector<ErrorGroup> grouped(const Validation& validation, Keys keys) {
  std::map<std::string, std::vector<ValidatedRow>> groups;
  for (const ValidatedRow& row : validation.rows) {
    for (const std::string& key : keys(row)) groups[key].push_back(row);
  }
  std::vector<ErrorGroup> list;
  list.reserve(groups.size());
  for (auto& [name, rows] : groups) list.push_back({name, std::move(rows)});
  return list;
}

using Names = std::vector<std::string>;

}  // namespace

double ValidatedRow::ape() const { return std::fabs(predicted / measured - 1); }

Choosing choosing(const std::vector<ValidatedRow>& rows) {
  constexpr std::size_t kFewest = 4;
  std::map<std::string, std::vector<const ValidatedRow*>> groups;
  for (const ValidatedRow& row : rows) {
    if (!row.layout_group.empty()) groups[row.layout_group].push_back(&row);
  }
  Choosing result;
  double sum = 0;
  for (const auto& [name, group] : groups) {
    if (group.size() < kFewest) continue;
    const auto less = [](auto value) {
      return [value](const ValidatedRow* a, const ValidatedRow* b) { return a->*value < b->*value; };
    };
    const ValidatedRow* first = *std::min_element(group.begin(), group.end(), less(&ValidatedRow::predicted));
    const ValidatedRow* best = *std::min_element(group.begin(), group.end(), less(&ValidatedRow::measured));
    const double loss = first->measured / best->measured - 1;
    sum += loss;
    result.largest_loss = std::max(result.largest_loss, loss);
    ++result.groups;
  }
  if (result.groups > 0) result.mean_loss = sum / static_cast<double>(result.groups);
  return result;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
}

ErrorStats error_stats(const std::vector<ValidatedRow>& rows) {
  std::vector<double> apes, ratios;
  double sum = 0;
  for (const ValidatedRow& row : rows) {
    apes.push_back(row.ape());
    ratios.push_back(row.predicted / row.measured);
    sum += row.ape();
  }
  if (rows.empty()) return {};
  return {rows.size(), quantile(apes, kHalf), sum / static_cast<double>(rows.size()),
          quantile(apes, kNineTenths), quantile(ratios, kHalf) - 1};
}

std::vector<ErrorGroup> by_source(const Validation& v) {
  return grouped(v, [](const ValidatedRow& row) { return Names{row.source}; });
}
std::vector<ErrorGroup> by_gpu(const Validation& v) {
  return grouped(v, [](const ValidatedRow& row) { return Names{row.gpu}; });
}
std::vector<ErrorGroup> by_framework(const Validation& v) {
  return grouped(v, [](const ValidatedRow& row) { return Names{row.framework}; });
}
std::vector<ErrorGroup> by_feature(const Validation& v) {
  return grouped(v, [](const ValidatedRow& row) {
    return row.features.empty() ? Names{"dense, one GPU a replica"} : row.features;
  });
}

std::vector<ErrorGroup> by_counter(const Validation& v) {
  Validation all = v;
  all.rows.insert(all.rows.end(), v.again.begin(), v.again.end());
  return grouped(all,
                 [](const ValidatedRow& row) { return row.counter.empty() ? Names{} : Names{row.counter}; });
}

}  // namespace shardplan
