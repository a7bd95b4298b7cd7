#include "import/compare_question.h"

#include <span>

#include "import/question_options.h"
#include "import/question_plan.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

std::optional<std::int64_t> gpus_of(const PlanText& text) {
  const auto& a = text.axes;
  if (!text.whole && !(a.dp && a.tp && a.pp && a.cp)) return std::nullopt;
  return std::int64_t{*a.dp} * *a.tp * *a.pp * *a.cp;
}

/// Where no flag tells the GPUs, they are those of the first plan that does.
void take_gpus(QuestionSpec& spec, std::span<const PlanText> texts, std::vector<std::string>& assumed) {
  for (const PlanText& text : texts) {
    const auto gpus = gpus_of(text);
    if (spec.gpus || spec.topology || !gpus) continue;
    spec.gpus = std::to_string(*gpus);
    assumed.push_back(counted(*gpus, "GPU") + (*gpus == 1 ? ": that of " : ": those of ") + text.where);
  }
}

/// What the model, the framework and the device say of the axes that a plan tells; as of the flags.
std::optional<Error> refused(const Question& q, const std::string& where) {
  const QuestionSpec none;
  FlagReader flags(none);
  check_recompute(flags, q);
  check_ends(flags, q);
  check_offload(flags, q);
  if (!flags.error()) return std::nullopt;
  Error error = *flags.error();
  error.where = where;
  return error;
}

std::optional<Error> other_batch(const PlanText& text, const Plan& plan, std::int64_t batch) {
  if (batch == 0 || plan.sequences() == batch) return std::nullopt;
  const std::int64_t each = std::int64_t{plan.dp} * plan.micro_batch;
  return Error{"not_divisible",
               "dp " + std::to_string(plan.dp) + " x micro-batch " + std::to_string(plan.micro_batch) +
                   " x " + counted(plan.grad_accumulation, "micro-batch", "es") +
                   " is not the global batch of " + counted(batch, "sequence"),
               text.where,
               batch % each == 0 ? "ga" + std::to_string(batch / each)
                                 : "a batch that is a multiple of dp x micro-batch = " + std::to_string(each),
               ""};
}

/// A whole plan as it is, but that a told batch says how many micro-batches there are where it does not.
Plan whole_plan(const PlanText& text, std::int64_t batch) {
  Plan plan = text.as_plan();
  const std::int64_t each = std::int64_t{plan.dp} * plan.micro_batch;
  if (!text.grad_accumulation && batch > 0 && batch % each == 0)
    plan.grad_accumulation = static_cast<std::int32_t>(batch / each);
  return plan;
}

/// `q` has the flags' axes.
Result<MemoryPlan> plan_of(const PlanText& text, Question q) {
  if (auto error = add_axes(text, q.fixed)) return *error;
  if (auto error = refused(q, text.where)) return *error;
  if (text.whole) return MemoryPlan{whole_plan(text, q.workload.global_batch), {}};
  Result<MemoryPlan> taken = default_memory_plan(q);
  if (!taken) {
    Error error = taken.error();
    error.message = text.where + ": " + error.message;
    return error;
  }
  Plan& plan = taken.value().plan;
  if (text.grad_accumulation) plan.grad_accumulation = *text.grad_accumulation;
  if (text.micro_batch_group) plan.micro_batch_group = *text.micro_batch_group;
  if (text.first_layers) plan.first_layers = *text.first_layers;
  if (text.last_layers) plan.last_layers = *text.last_layers;
  // ZeRO that one replica has nothing for was told all the same.
  if (text.axes.zero_stage) plan.zero_stage = *text.axes.zero_stage;
  for (std::string& line : taken.value().assumed) line = text.where + ": " + line;
  return taken;
}

/// Sequences of a step, where the plan says how many micro-batches it has.
std::optional<std::int64_t> own_sequences(const PlanText& text, Question q) {
  if (!text.whole && !text.grad_accumulation) return std::nullopt;
  q.workload.global_batch = 0;
  const Result<MemoryPlan> plan = plan_of(text, std::move(q));
  return plan ? std::optional(plan->plan.sequences()) : std::nullopt;
}

}  // namespace

Result<ComparedPlans> build_comparison(QuestionSpec spec, const std::array<PlanText, 2>& texts,
                                       const Catalog& catalog) {
  spec.purpose = Purpose::kPlan;
  std::vector<std::string> from_plans;
  take_gpus(spec, texts, from_plans);
  Result<Question> question = build_question(spec, catalog);
  if (!question) return question.error();
  bool own_batches = false;
  if (!spec.global_batch) {
    const auto a = own_sequences(texts[0], *question), b = own_sequences(texts[1], *question);
    own_batches = a && b && *a != *b;
    if (a || b) {
      // Asked anew, as a batch that is told is no assumption.
      spec.global_batch = std::to_string(a ? *a : *b);
      question = build_question(spec, catalog);
      if (!question) return question.error();
      from_plans.push_back("global batch " + counted(a ? *a : *b, "sequence") +
                           (own_batches ? " of " : ": that of ") + texts[a ? 0 : 1].where +
                           (own_batches ? " and " + count(*b) + " of " + texts[1].where : ""));
    }
  }
  ComparedPlans asked{std::move(question).value(), {}};
  Question& q = asked.question;
  if (own_batches) q.workload.global_batch = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Result<MemoryPlan> plan = plan_of(texts[i], q);
    if (!plan) return plan.error();
    if (const auto error = other_batch(texts[i], plan->plan, q.workload.global_batch)) return *error;
    asked.plans[i] = std::move(plan).value();
  }
  q.assumed.insert(q.assumed.begin(), from_plans.begin(), from_plans.end());
  return asked;
}

Result<AskedKind> build_why_not(PlanSpec whole, const PlanText& kind, const Catalog& catalog) {
  QuestionSpec& spec = whole.question;
  spec.purpose = Purpose::kPlan;
  std::vector<std::string> from_plan;
  if (kind.whole) {
    take_gpus(spec, {&kind, 1}, from_plan);
    if (!spec.global_batch) {
      spec.global_batch = std::to_string(kind.as_plan().sequences());
      from_plan.push_back("global batch " + *spec.global_batch + " sequences: that of " + kind.where);
    }
  }
  const bool dealt = kind.grad_accumulation || kind.micro_batch_group;
  if (dealt && !kind.whole) {
    return Error{"unsupported", "how micro-batches are dealt is no axis of a search", kind.where,
                 "a whole plan, with dp, a ZeRO stage and a micro-batch, or axes alone", ""};
  }
  Result<Question> question = searched_question(whole, catalog);
  if (!question) return question.error();
  QuestionSpec by_flags = spec;
  const auto in_fix = take_fixed(whole.fix, by_flags);
  AskedKind asked{std::move(question).value(), kind, {}, told_axes(spec, *in_fix, whole.bounds)};
  asked.question.assumed.insert(asked.question.assumed.begin(), from_plan.begin(), from_plan.end());
  asked.with = asked.question.fixed;
  if (auto error = add_axes(kind, asked.with)) return *error;
  Question with = asked.question;
  with.fixed = asked.with;
  if (auto error = refused(with, kind.where)) return *error;
  if (!kind.whole) return asked;
  Plan plan = whole_plan(kind, asked.question.workload.global_batch);
  if (auto error = other_batch(kind, plan, asked.question.workload.global_batch)) return *error;
  asked.kind.grad_accumulation = plan.grad_accumulation;
  return asked;
}

}  // namespace shardplan
