#include "report/remedy_report.h"

#include <algorithm>
#include <cmath>

#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// Blocks are mapped page by page, so that what is free in pieces serves a tensor of any size.
constexpr const char* kExpandable = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";

/// Counts are whole in almost every schedule, and then have no decimals.
Json count_json(double count) {
  return count == std::floor(count) ? Json(static_cast<std::int64_t>(count)) : Json(count);
}

/// Those that are printed, in order.
std::vector<Remedy> shown(const std::vector<Remedy>& remedies) {
  std::vector<Remedy> some;
  std::size_t same = 0;
  for (const Remedy& r : remedies) {
    if (r.changes_training || ++same <= kRemediesShown) some.push_back(r);
  }
  return some;
}

std::string signed_step(const Remedy& remedy) {
  const double more = remedy.step.raw() - 1;
  return (more < 0 ? "" : "+") + format_percent(more);
}

}  // namespace

std::string remedy_lines(const std::vector<Remedy>& remedies, std::optional<Bytes<>> joined) {
  const std::vector<Remedy> some = shown(remedies);
  const bool host = std::any_of(some.begin(), some.end(), [](const Remedy& r) { return r.host > bytes(0); });
  std::string text;
  const auto table = [&](bool changes, bool with_joined) {
    Table rows;
    std::vector<std::string> head{changes ? "change (trains differently)" : "change", "total", "freed",
                                  "step"};
    if (host) head.emplace_back("host memory of a node");
    rows.row(head);
    std::size_t count = 0;
    if (with_joined && joined) {
      rows.row({kExpandable, "", format(*joined), "+" + format_percent(0)});
      ++count;
    }
    for (const Remedy& r : some) {
      if (r.changes_training != changes) continue;
      std::vector<std::string> cells{r.change, format(r.memory), r.freed > bytes(0) ? format(r.freed) : "",
                                     signed_step(r)};
      if (host) cells.push_back(r.host > bytes(0) ? format(r.host) : "");
      rows.row(cells);
      ++count;
    }
    if (count > 0) text += (text.empty() ? "" : "\n") + rows.text();
  };
  table(false, true);
  table(true, false);
  return text;
}

Json remedies_json(const std::vector<Remedy>& remedies, std::optional<Bytes<>> joined) {
  Json list = Json::array();
  if (joined) {
    list.push_back({{"change", kExpandable},
                    {"plan", nullptr},
                    {"total_bytes", nullptr},
                    {"freed_bytes", joined->raw()},
                    {"step_time_ratio", 1.0},
                    {"changes_training", false},
                    {"host_node_bytes", 0.0}});
  }
  for (const Remedy& r : shown(remedies)) {
    list.push_back({{"change", r.change},
                    {"plan", plan_json(r.plan)},
                    {"total_bytes", r.memory.raw()},
                    {"freed_bytes", r.freed.raw()},
                    {"step_time_ratio", r.step.raw()},
                    {"changes_training", r.changes_training},
                    {"host_node_bytes", r.host.raw()}});
  }
  return list;
}

std::string tensor_words(const Tensor& tensor) {
  const std::string one = format(tensor.bytes) + " of " + tensor.name;
  return tensor.alive == 1 ? one : format_number(tensor.alive) + " x " + one;
}

Json tensor_json(const Tensor& tensor) {
  return {{"name", tensor.name}, {"bytes", tensor.bytes.raw()}, {"count", count_json(tensor.alive)}};
}

}  // namespace shardplan
