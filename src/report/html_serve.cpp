#include "report/html_serve.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "report/html_charts.h"
#include "report/html_findings.h"
#include "report/html_formulas.h"
#include "report/html_parts.h"
#include "report/html_style.h"
#include "report/serve_report.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

/// The parts of the sums, each by the name under which the page shows it.
TraceRoots part_roots(const DecodeCost<Traced>& c) {
  TraceRoots roots;
  const auto add = [&](const char* name, const auto& quantity) {
    if (value_of(quantity) != 0) roots.emplace_back(name, quantity.raw().shared());
  };
  add("weights", c.weights_gpu);
  add("key-value cache", c.kv_gpu);
  add("reading the weights", c.weight_read);
  add("matrix products", c.compute);
  add("reading the cache", c.kv_read);
  add("latency of all-reduces", c.all_reduces * c.all_reduce.cost.latency_term);
  add("bytes of all-reduces", c.all_reduces * c.all_reduce.cost.bandwidth_term);
  add("arithmetic of the prompt", c.prefill_compute);
  add("latency of the prompt's all-reduces", c.all_reduces * c.prompt_all_reduce.cost.latency_term);
  add("bytes of the prompt's all-reduces", c.all_reduces * c.prompt_all_reduce.cost.bandwidth_term);
  return roots;
}

TraceRoots page_roots(const ServeAnswer& a) {
  const auto cost = decode_cost<Traced>(a.question.question, decode_case(a.question, a.shown().plan));
  TraceRoots roots = serve_roots(cost);
  const auto tensor = leaf<Traced>("tp", static_cast<double>(a.shown().plan.tp), "plan");
  roots.emplace_back("output of each GPU", cost.throughput_gpu(tensor).raw().shared());
  const TraceRoots parts = part_roots(cost);
  roots.insert(roots.end(), parts.begin(), parts.end());
  return roots;
}

/// A part of a bar with its row in the table.
struct Part {
  const char* name;
  const char* kind;  // its colour
  Seconds<> time;
  bool hidden = false;
  std::string note = {};
};

class ServePage {
 public:
  explicit ServePage(const ServeAnswer& answer)
      : a_(answer),
        q_(answer.question.question),
        c_(answer.shown().cost),
        roots_(page_roots(answer)),
        cards_(roots_) {}

  std::string html() const {
    const std::string title =
        q_.model.name + " served on " + count(q_.cluster.gpus) + " x " + q_.cluster.device.name;
    const Answer& f = a_.findings;
    const std::vector<Section> all{memory(),
                                   token(),
                                   prompt(),
                                   axes_section(q_.cluster, f.axes, f.not_used, cards_),
                                   degrees(),
                                   failure_section(f.failure_modes, f.judged_by, cards_),
                                   threshold_section(f.thresholds, f.not_sought),
                                   unknown_section(f.unknowns, {}),
                                   source_section(q_, nullptr),
                                   cards_.section()};
    return report_page("shardplan serve", title, {answer()}, all);
  }

 private:
  Markup number(const char* name, const std::string& value) const {
    return cards_.number(roots_, name, value);
  }

  Markup verdict() const {
    const ServePlan& p = a_.shown();
    const auto& limit = a_.question.tpot_limit;
    if (!p.fits) return element("p.verdict no", a_.plans.size() > 1 ? "nothing fits" : "does not fit");
    if (!limit) return element("p.verdict fits", "fits");
    return p.meets ? element("p.verdict fits", "meets " + format(*limit))
                   : element("p.verdict no", "misses " + format(*limit));
  }

  Markup figures() const {
    const ServePlan& p = a_.shown();
    const Bytes<> over = c_.memory() - c_.usable;
    const Markup memory =
        p.fits
            ? headline_figure("memory left free", number("memory left free", format(c_.usable - c_.memory())),
                              "of " + format(c_.usable) + " usable on each GPU")
            : headline_figure("memory too much", format(over),
                              "beyond " + format(c_.usable) + " usable on each GPU");
    return element(
        "dl.figures",
        headline_figure("time of each output token", number("time of each output token", format(c_.step())),
                        "TPOT" + std::string(p.fits ? "" : ", were there room")) +
            headline_figure("time of a prompt", number("time of one prompt", format(c_.prefill())),
                            "TTFT, of " + count(a_.question.context()) + " tokens") +
            headline_figure("output", number("output of each GPU", format(p.tokens_per_gpu())),
                            "of a GPU; of a replica " + format(c_.throughput)) +
            memory +
            headline_figure("sequences at once",
                            number("sequences at once", format_count(c_.concurrency.raw())),
                            "that the cache of a replica holds"));
  }

  Markup facts() const {
    Markup list;
    const auto fact = [&](const char* what, const std::string& says) {
      list += element("dt", what) + element("dd", says);
    };
    fact("model", q_.model.name + ": " + format_count(state_parameters(q_.model)) + " parameters");
    fact("cluster", q_.cluster.name);
    fact("load", counted(a_.question.batch, "sequence") + " of " + counted(a_.question.context(), "token") +
                     ", decoded together by each replica");
    if (a_.question.tpot_limit) fact("limit", format(*a_.question.tpot_limit) + " for each output token");
    return element("dl.facts", list);
  }

  Section answer() const {
    return {"The answer", "answer",
            verdict() + element("p.plan", serve_plan_words(a_.shown().plan)) + figures() +
                element("p.binding",
                        cards_.sentence(a_.findings.binding.statement, a_.findings.binding.figures)) +
                element("p.hint", "A number with a dotted line opens its formula.") + facts()};
  }

  Section memory() const {
    const Bytes<> hbm = q_.cluster.device.memory_reported.value, most = std::max(hbm, c_.memory());
    const auto share = [&](Bytes<> b) { return (b / most).raw(); };
    HtmlTable table("Terms of the memory", "lrrw", {"term", "bytes", "of usable", ""});
    const auto row = [&](const char* name, Bytes<> b, const std::string& note) {
      table.row({name, number(name, format(b)), format_percent((b / c_.usable).raw()), note});
    };
    row("weights", c_.weights_gpu, weights_words(a_));
    row("key-value cache", c_.kv_gpu, cache_words(a_));
    table.last_row({"total", number("memory of each GPU", format(c_.memory())),
                    format_percent((c_.memory() / c_.usable).raw()), ""});
    const Markup drawn =
        bar({{"memory-weights", share(c_.weights_gpu), "weights " + format(c_.weights_gpu)},
             {"memory-activations", share(c_.kv_gpu), "key-value cache " + format(c_.kv_gpu)}},
            {share(c_.usable), share(hbm)});
    return {
        "Memory of each GPU", "memory",
        element("figure",
                drawn + legend({{"memory-weights", "weights"}, {"memory-activations", "key-value cache"}})) +
            paragraph("The lines are what is usable, " + format(c_.usable) +
                      ", and all of HBM; between them is the reserve, " + reserve_words(q_.cluster) + ".") +
            table.markup() + paragraph(capacity_words(a_))};
  }

  /// A sum as a bar and as a table; what hides beside the rest has no part in it.
  Section times(const char* heading, const char* id, const std::vector<Part>& parts, const char* total,
                Seconds<> sum) const {
    std::vector<BarPart> drawn;
    std::vector<LegendEntry> entries;
    HtmlTable table(std::string("Terms of: ") + heading, "lrrw", {"term", "time", "share", ""});
    for (const Part& part : parts) {
      if (!(part.time > seconds(0))) continue;
      const double share = (part.time / sum).raw();
      table.row({part.name, number(part.name, format(part.time)), part.hidden ? "" : format_percent(share),
                 part.hidden ? "beside the other, hidden" : part.note});
      if (part.hidden) continue;
      drawn.push_back({part.kind, share, part.name + (" " + format(part.time))});
      entries.push_back({part.kind, part.name});
    }
    table.last_row({"total", number(total, format(sum)), "", ""});
    return {heading, id, element("figure", bar(drawn) + legend(entries)) + table.markup()};
  }

  /// What the two terms of all-reduces are parts of.
  std::string of_all_reduces(Seconds<> all) const {
    return "of " + counted(c_.all_reduces.raw(), "all-reduce") + ", " + format(all) + " together";
  }

  Section token() const {
    const bool arithmetic = c_.compute > c_.weight_read;
    return times("Time of each output token", "token",
                 {{"reading the weights", "compute", c_.weight_read, arithmetic},
                  {"matrix products", "compute", c_.compute, !arithmetic},
                  {"reading the cache", "memory-activations", c_.kv_read},
                  {"latency of all-reduces", "waiting", c_.all_reduces * c_.all_reduce.cost.latency_term,
                   false, of_all_reduces(c_.communication()) + ", " + all_reduce_words(c_)},
                  {"bytes of all-reduces", "again", c_.all_reduces * c_.all_reduce.cost.bandwidth_term}},
                 "time of each output token", c_.step());
  }

  Section prompt() const {
    return times("Time of one prompt", "prompt",
                 {{"arithmetic of the prompt", "compute", c_.prefill_compute},
                  {"latency of the prompt's all-reduces", "waiting",
                   c_.all_reduces * c_.prompt_all_reduce.cost.latency_term, false,
                   of_all_reduces(c_.prefill_all_reduce())},
                  {"bytes of the prompt's all-reduces", "again",
                   c_.all_reduces * c_.prompt_all_reduce.cost.bandwidth_term}},
                 "time of one prompt", c_.prefill());
  }

  Section degrees() const {
    if (a_.plans.size() < 2) return {};
    HtmlTable table("Every legal degree of tensor parallelism", "lrrrrrw",
                    {"tp", "memory", "TPOT", "TTFT", "tokens/s a GPU", "sequences at once", ""});
    for (std::size_t i = 0; i < a_.plans.size(); ++i) {
      const ServePlan& p = a_.plans[i];
      table.row({count(p.plan.tp), format(p.cost.memory()), format(p.cost.step()), format(p.cost.prefill()),
                 format_number(p.tokens_per_gpu().raw()), format_count(p.cost.concurrency.raw()),
                 i == a_.chosen && a_.feasible() ? "best" : verdict_words(p)});
    }
    return {"Every legal degree", "degrees", table.markup()};
  }

  const ServeAnswer& a_;
  const Question& q_;
  const DecodeCost<>& c_;
  TraceRoots roots_;
  FormulaCards cards_;
};

}  // namespace

std::string serve_html(const ServeAnswer& answer) { return ServePage(answer).html(); }

}  // namespace shardplan
