// Failures of the run: what is learnt of a step's tokens, how often it is interrupted.
#include <array>
#include <cmath>

#include "estimate/interruptions.h"
#include "reason/bisect.h"
#include "reason/failure_kinds.h"
#include "reason/failure_modes.h"

namespace shardplan {
namespace {

using Case = FailureCase;
constexpr Seconds<> kHour = seconds(3600), kDay = seconds(86400);

// Critical batch --------------------------------------------------------------------------------------------

double batch_tokens(const Case& c) {
  return static_cast<double>(c.plan().sequences() * c.question().workload.sequence);
}
bool beyond_critical(const Case& c) {
  const double critical = c.question().workload.critical_batch_tokens;
  return critical > 0 && batch_tokens(c) > critical;
}
Sentence beyond_critical_said(const Case& c) {
  Sentence s;
  s << "a step of " << stated_counted("batch", batch_tokens(c), "token")
    << " is beyond the critical batch of "
    << stated_count("critical_batch", c.question().workload.critical_batch_tokens)
    << ": more tokens a second, but not as much less loss";
  return s;
}
Arrival beyond_critical_arrives(const Case& c) {
  Sentence then;
  then << "the batch is larger than the noise of its gradient pays for";
  return {"below", {{"level", batch_tokens(c), "tokens"}, format(tokens(batch_tokens(c)))}, then};
}

// Interruptions ---------------------------------------------------------------------------------------------

bool interrupted(const Case& c) { return interruptions_expected(c.estimator); }
/// Lives of devices are told in hours, however long.
Stated stated_hours(const char* name, Seconds<> q) {
  return {{name, q.raw(), "s"}, format_number((q / kHour).raw()) + " h"};
}
std::string told_by(const Source& source) {
  return source.kind == SourceKind::kUser ? label(source) : source.title + ", " + name(source.kind);
}

Sentence interruptions_said(const Case& c) {
  const Reliability& r = c.cluster().reliability;
  const Interruptions<> i = interruptions<double>(c.estimator);
  const Sourced<BytesPerSecond<>> storage = r.checkpoint_bandwidth(c.cluster().gpus);
  Sentence s;
  s << "an interruption every " << stated_duration("between", i.between) << " is expected, "
    << stated_number("interruptions_a_day", (kDay / i.between).raw()) << " a day: one GPU brings one in "
    << stated_hours("mtbf_gpu", r.mtbf_gpu.value) << " (" << told_by(r.mtbf_gpu.source)
    << "). A checkpoint of " << stated("checkpoint", i.checkpoint) << " is written in "
    << stated_duration("write", i.write) << " at " << stated("storage", storage.value) << " ("
    << told_by(storage.source) << "), best every " << stated_duration("interval", i.interval) << " or "
    << stated_counted("interval_steps", std::max(1.0, std::floor((i.interval / c.best.step).raw())), "step")
    << "; with " << stated_duration("restart", r.restart.value) << " for a restart ("
    << told_by(r.restart.source) << ") " << stated_share("effective", i.effective.raw())
    << " of the time goes into steps that count";
  return s;
}
Arrival interruptions_arrive(const Case& c) {
  const Interruptions<> i = interruptions<double>(c.estimator);
  const Seconds<> restart = c.cluster().reliability.restart.value;
  const auto below = [&](double a_day) {
    return effective_time(i, restart, kDay / ratio(a_day)) < c.risk().effective_time.value;
  };
  // Rates that no cluster has and that no run survives.
  constexpr double kFewest = 1e-9, kMost = 1e9;
  const double at = bisect(kFewest, kMost, below).value_or(kMost);
  Sentence then;
  then << "less than " << stated_risk(c.risk(), &RiskFigures::effective_time)
       << " of the time goes into steps that count, whatever the interval";
  return {"above", {{"level", at, "1/day"}, format_number(at) + " a day"}, then};
}

constexpr std::array kKinds{
    FailureKind{"beyond_critical_batch", beyond_critical, beyond_critical_said, beyond_critical_arrives,
                "loss against tokens is worse than with the smaller batch, although tokens a second are "
                "better",
                "gradient noise scale, beside loss at equal tokens"},
    FailureKind{"interruptions", interrupted, interruptions_said, interruptions_arrive,
                "tokens a day fall behind what the step gives; the same steps are trained on again",
                "interruptions a day, beside the time until the undone steps are made good"},
};

}  // namespace

bool interruptions_expected(const Estimator& estimator) {
  const Question& q = estimator.question();
  return q.cluster.reliability.known() &&
         interruptions<double>(estimator).between <= kDay * q.risk->run_days.value;
}

std::span<const FailureKind> run_failures() { return kKinds; }

}  // namespace shardplan
