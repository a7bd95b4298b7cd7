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

}  // namespace

std::string remedy_lines(const std::vector<Remedy>& remedies, std::optional<Bytes<>> joined) {
  Table table;
  table.row({"change", "total", "freed", "step"});
  if (joined) table.row({kExpandable, "", format(*joined), "+" + format_percent(0)});
  for (std::size_t i = 0; i < std::min(remedies.size(), kRemediesShown); ++i) {
    const Remedy& r = remedies[i];
    const double more = r.step.raw() - 1;
    table.row({r.change, format(r.memory), format(r.freed), (more < 0 ? "" : "+") + format_percent(more)});
  }
  return table.text();
}

Json remedies_json(const std::vector<Remedy>& remedies, std::optional<Bytes<>> joined) {
  Json list = Json::array();
  if (joined) {
    list.push_back({{"change", kExpandable},
                    {"plan", nullptr},
                    {"total_bytes", nullptr},
                    {"freed_bytes", joined->raw()},
                    {"step_time_ratio", 1.0}});
  }
  for (std::size_t i = 0; i < std::min(remedies.size(), kRemediesShown); ++i) {
    const Remedy& r = remedies[i];
    list.push_back({{"change", r.change},
                    {"plan", plan_json(r.plan)},
                    {"total_bytes", r.memory.raw()},
                    {"freed_bytes", r.freed.raw()},
                    {"step_time_ratio", r.step.raw()}});
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
