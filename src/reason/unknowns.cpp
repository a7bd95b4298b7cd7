#include "reason/unknowns.h"

#include "catalog/spread.h"
#include "reason/sentence.h"

namespace shardplan {
namespace {

struct Case {
  const Question& question;
  const Estimate* best;
  const AnswerBands& bands;
};

bool always(const Case&) { return true; }
bool planned(const Case& c) { return c.best != nullptr; }
bool no_vocabulary(const Case& c) { return c.question.model.vocab == 0; }
bool unread(const Case& c) { return c.best != nullptr && !c.question.workload.data_loading; }
bool many(const Case& c) { return c.best != nullptr && c.best->plan.gpus() > 1; }
bool torus(const Case& c) { return many(c) && c.question.cluster.torus; }
bool rings(const Case& c) { return many(c) && !c.question.cluster.collectives && !torus(c); }
bool library(const Case& c) { return many(c) && c.question.cluster.collectives; }
bool experts(const Case& c) {
  return c.best != nullptr && c.best->plan.ep > 1 && c.question.workload.expert_load == 1;
}
bool recomputes(const Case& c) { return c.best != nullptr && c.best->plan.recompute != Recompute::kNone; }

struct Magnitude {
  Sentence said;
  std::string source;  // of the figure
};

Magnitude nothing(const Case&) { return {Sentence("nothing that was measured gives its size"), ""}; }

/// How far off its source says that a figure may be.
void add_spread(const Source& source, Sentence& s) {
  if (const auto spread = spread_of(source)) s << ", give or take " << stated_share("spread", spread->size);
  if (const auto spread = spread_of(source); spread && spread->of_logarithm) s << " of it";
}

Magnitude fragmentation(const Case& c) {
  const Framework::Allocator& allocator = c.question.framework.allocator;
  const auto& slack = c.question.workload.expandable_segments ? allocator.expandable_slack : allocator.slack;
  Sentence s;
  s << "the reserved peak is taken as " << stated_share("slack", slack.value.raw())
    << " above the allocated one; the reserve keeps "
    << stated_share("reserve", c.question.cluster.reserve_share.value.raw()) << " of HBM for it";
  return {s, label(slack.source)};
}

/// What measured runs took or held of what is said of them.
Magnitude measured(const std::optional<ErrorBand>& band, const char* did, const char* rows) {
  if (!band) return {Sentence("no measured run compares with this one, so no error band is claimed"), ""};
  Sentence s;
  s << "of " << Stated{{"runs", static_cast<double>(band->rows), "runs"}, rows_text(*band)}
    << std::string(", 8 in 10 ") + did + " "
    << Stated{{"low", band->low_ratio, ""}, ratio_text(band->low_ratio)} << " to "
    << Stated{{"high", band->high_ratio, ""}, ratio_text(band->high_ratio)} << " times what it says";
  return {s, rows};
}

Magnitude measured_steps(const Case& c) {
  return measured(c.bands.step, "took", "published runs, validation/training_time.csv");
}

Magnitude measured_peaks(const Case& c) {
  return measured(c.bands.memory, "held", "published peaks, validation/training_memory.csv");
}

/// What comes back at once of a layer that is run again, and is gone before the next.
Magnitude transient_peak(const Case& c) {
  const Bytes<> transient = c.best->memory[MemoryTerm::kTransient], total = c.best->memory.total();
  Sentence s("it is part of the ");
  s << stated("transient", transient) << " of working buffers, "
    << stated_share("of_total", transient / total) << " of what the fullest stage holds";
  return {s, ""};
}

Magnitude spread_of_ranks(const Case& c) {
  const auto& jitter = c.question.framework.timing.jitter;
  if (jitter.value.raw() == 0) return nothing(c);
  Sentence s("one rank's step is taken to spread by ");
  s << stated_share("jitter", jitter.value) << " of itself";
  add_spread(jitter.source, s);
  return {s, label(jitter.source)};
}

Magnitude slowed_compute(const Case& c) {
  const auto& contention = c.question.cluster.device.efficiency.contention;
  if (contention.value.raw() == 0) return nothing(c);
  Sentence s;
  s << stated_share("contention", contention.value)
    << " of what is hidden is taken to slow the compute beside it";
  add_spread(contention.source, s);
  return {s, label(contention.source)};
}

Magnitude fixed_time(const Case& c) {
  const auto& fixed = c.question.framework.timing.step;
  if (fixed.value <= seconds(0)) return nothing(c);
  Sentence s;
  s << stated("fixed", fixed.value) << " of a step are taken to be the host's";
  add_spread(fixed.source, s);
  return {s, label(fixed.source)};
}

struct Kind {
  const char* id;
  bool (*applies)(const Case&);
  const char* statement;
  Magnitude (*magnitude)(const Case&);
};

constexpr std::array kKinds{
    Kind{
        "time_model", always,
        "how far the step time is from a measured one: its constants were fitted on published runs, of other code than yours",
        measured_steps},
    Kind{"memory_model", planned,
         "how far the memory is from a measured peak: what a framework frees late, its account does not see",
         measured_peaks},
    Kind{
        "recompute_peak", recomputes,
        "how much is there at once while a layer is run again: in which order its kernels free what they used",
        transient_peak},
    Kind{"fragmentation", always, "what the allocator loses between its blocks", fragmentation},
    Kind{"logits", no_vocabulary,
         "the logits and their loss: the shape was given without a vocabulary, so they are left out",
         nothing},
    Kind{
        "collective_algorithm", library,
        "whether the library takes the algorithm and protocol of its own tables: a tuner plug-in or a setting may choose otherwise",
        nothing},
    Kind{
        "collective_algorithm", torus,
        "how XLA runs each collective: all axes of the torus that a group spans are taken as used at once, and mesh axes as laid along them in order",
        nothing},
    Kind{"collective_algorithm", rings,
         "which algorithm and protocol the library takes for each message: rings are assumed throughout",
         nothing},
    Kind{"stragglers", many,
         "slow GPUs, links and hosts: beyond the usual spread of ranks all are taken as equal",
         spread_of_ranks},
    Kind{"contention", many,
         "how much collectives and the kernels beside them slow each other, and what else is on the links",
         slowed_compute},
    Kind{"host_stalls", planned, "pauses of the host: garbage collection, logging, checks between steps",
         fixed_time},
    Kind{"framework_version", planned,
         "what another version of the framework does: its constants are of the versions that were measured",
         nothing},
    Kind{"data_loading", unread, "how long reading a batch takes: it is taken to keep up (--data-loading)",
         nothing},
    Kind{"recompute_attention", recomputes,
         "whether the attention of the framework is fused: without it, recomputation brings the scores back",
         nothing},
    Kind{"expert_balance", experts, "how evenly the router spreads tokens: balanced routing is assumed",
         nothing},
};

}  // namespace

std::vector<Unknown> unknowns(const Question& question, const Estimate* best, const AnswerBands& bands) {
  const Case c{question, best, bands};
  std::vector<Unknown> found;
  for (const Kind& kind : kKinds) {
    if (!kind.applies(c)) continue;
    Magnitude magnitude = kind.magnitude(c);
    found.push_back({kind.id, kind.statement, magnitude.said.words(), magnitude.said.figures(),
                     std::move(magnitude.source)});
  }
  return found;
}

}  // namespace shardplan
