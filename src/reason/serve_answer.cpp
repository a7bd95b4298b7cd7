#include "reason/serve_answer.h"

#include "reason/judged_by.h"
#include "reason/nearest_measured.h"
#include "reason/serve_findings.h"
#include "search/serve_splits.h"
#include "units/format.h"

namespace shardplan {
namespace {

const ErrorBand* band_of(const Evidence& evidence, const char* of_class) {
  for (const ErrorBand& band : evidence.bands)
    if (band.kind == kServingBand && band.name == of_class) return &band;
  return nullptr;
}

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

}  // namespace

std::string serve_split_words(const ServeSplit& s) {
  return "tp " + count(s.tensor) + (s.pipeline > 1 ? ", pp " + count(s.pipeline) : "") +
         (s.data > 1 ? ", dp-attention " + count(s.data) : "");
}

std::optional<Error> why_no_split(const ServeQuestion& q) {
  const SplitRules rules(q);
  if (!rules.all().empty()) return std::nullopt;
  const auto broken = rules.broken({q.tensor.value_or(1), q.pipeline.value_or(1), q.data.value_or(1)});
  if (!broken)
    return Error{"illegal_plan", "no split agrees with what is told", "--tp, --pp, --dp-attention",
                 "degrees that divide the GPUs", ""};
  const std::string flag = broken->flag;
  const bool one = broken->nearest > 0 && flag.find(',') == std::string::npos;
  return Error{"illegal_plan", broken->message, flag, broken->expected,
               one ? flag + " " + std::to_string(broken->nearest) : ""};
}

ServeAnswer serve_answer(const ServeQuestion& q, const Evidence& evidence) {
  ServeAnswer a;
  a.question = q;
  a.search = search_serving(q);
  const ServePlan& shown = a.shown();
  a.engine = engine_says(q, shown);
  a.domain = measured_domain(q, evidence);
  Answer& f = a.findings;
  f.binding = serve_binding(q, shown);
  f.axes = serve_axes(q, shown);
  f.not_used = serve_unused_axes(q, a.search);
  if (q.memory.rule != PoolRule::kReserve) {
    if (const ErrorBand* band = band_of(evidence, serving_class(q, shown.prefill.has_value())))
      f.step_band = *band;
    f.nearest = nearest_measured(evidence, serve_profile(q, shown));
  }
  f.failure_modes = serve_failure_modes(q, shown, f.step_band);
  f.judged_by = judged_by(*q.question.risk, f.axes, f.failure_modes);
  f.thresholds = serve_thresholds(q, a.search);
  f.sensitivity = serve_sensitivity(q, shown);
  f.unknowns = serve_unknowns(q, a);
  return a;
}

}  // namespace shardplan
