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
TraceRoots part_roots(const ServeCost<Traced>& c) {
  TraceRoots roots;
  const auto add = [&](const std::string& name, const auto& quantity) {
    if (value_of(quantity) != 0) roots.emplace_back(name, quantity.raw().shared());
  };
  for (std::size_t i = 0; i < kWeightKindCount; ++i)
    add(std::string("weights: ") + name(static_cast<WeightKind>(i)), c.memory.weights[i]);
  add("peak of the warm-up", c.room.peak);
  const TokenTime<Traced>& t = c.time;
  if (value_of(t.accepted) == 1) {
    add("reading the weights", t.weights);
    add("matrix products", t.products);
    add("reading the cache", t.cache);
    add("hidden vectors", t.traffic);
    add("kernels' floor", t.floor);
    add("host", t.host);
    add("latency of all-reduces", t.all_reduces.latency());
    add("bytes of all-reduces", t.all_reduces.content());
    add("tokens to experts", t.exchange);
    add("sends between stages", t.sends);
    add("other requests' prompts", t.prompts);
  }
  add("prompt: matrix products", t.prompt_products);
  add("prompt: attention of the prompt", t.prompt_scores);
  add("prompt: hidden vectors", t.prompt_traffic);
  add("prompt: latency of all-reduces", t.prompt_all_reduces.latency());
  add("prompt: bytes of all-reduces", t.prompt_all_reduces.content());
  add("prompt: waiting for prompts before it", c.queue);
  return roots;
}

TraceRoots page_roots(const ServeAnswer& a) {
  const auto cost = traced_cost(a);
  TraceRoots roots = serve_roots(a, cost);
  const auto gpus = leaf<Traced>("GPUs of a replica", static_cast<double>(a.shown().split.gpus()), "split");
  if (!a.shown().prefill) roots.emplace_back("output of each GPU", (cost.throughput / gpus).raw().shared());
  const TraceRoots parts = part_roots(cost);
  roots.insert(roots.end(), parts.begin(), parts.end());
  return roots;
}

/// The colour of a term.
const char* kind_of(const ServeTerm& term) {
  const std::string id = term.id;
  if (id.find("latency") != std::string::npos || id == "queue" || id == "prefill_interference")
    return "waiting";
  if (id == "kv_read" || id == "kv_transfer" || id == "hidden_traffic") return "memory-activations";
  if (id == "kernel_floor" || id == "host" || id == "drafts") return "none";
  return id == "weight_read" || id == "compute" || id == "attention" ? "compute" : "again";
}

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
    const std::vector<Section> all{
        engine(),
        memory(),
        token(),
        prompt(),
        axes_section(q_.cluster, f.axes, f.not_used, cards_),
        degrees(),
        front(),
        f.sensitivity.empty() ? Section{} : sensitivity_section(f.sensitivity, c_.tpot, "token"),
        failure_section(f.failure_modes, f.judged_by, cards_),
        threshold_section(f.thresholds, f.not_sought),
        unknown_section(f.unknowns, f.nearest),
        source_section(q_, nullptr),
        cards_.section()};
    return report_page("shardplan serve", title, {answer()}, all);
  }

 private:
  Markup number(const char* name, const std::string& value) const {
    return cards_.number(roots_, name, value);
  }

  Bytes<> room() const { return c_.memory.total_weights() + c_.room.pool; }

  Markup verdict() const {
    const ServePlan& p = a_.shown();
    const auto& limit = a_.question.tpot_limit;
    if (!p.fits) return element("p.verdict no", a_.plans().size() > 1 ? "nothing fits" : "does not fit");
    if (!a_.question.limited()) return element("p.verdict fits", "fits");
    const std::string limits = limit ? format(*limit) : format(*a_.question.ttft_limit);
    return p.meets ? element("p.verdict fits", "meets " + limits)
                   : element("p.verdict no", "misses " + limits);
  }

  Markup figures() const {
    const ServePlan& p = a_.shown();
    const Bytes<> over = c_.held() - room();
    const std::string of = "of " + format(room()) + " for weights and cache on each GPU";
    const Markup memory =
        p.fits
            ? headline_figure("memory left free", number("memory left free", format(c_.room.pool - c_.kept)),
                              of)
            : headline_figure("memory too much", format(over), "beyond " + format(room()) + " on each GPU");
    const std::string band = serve_band_words(a_);
    return element(
        "dl.figures",
        headline_figure(
            "time of each output token", number("time of each output token", format(c_.tpot)),
            "TPOT" + std::string(p.fits ? "" : ", were there room") + (band.empty() ? "" : "; " + band)) +
            headline_figure("time to the first token", number("time to the first token", format(p.ttft)),
                            "TTFT, of " + counted(a_.question.input, "token")) +
            headline_figure("output", number("output of each GPU", format(p.tokens_per_gpu())),
                            "of a GPU; of a replica " + format(c_.throughput)) +
            memory +
            headline_figure("sequences at once",
                            number("sequences at once", format_count(c_.room.requests.raw())),
                            "that the cache of a replica holds"));
  }

  Markup facts() const {
    Markup list;
    const ServeQuestion& q = a_.question;
    const auto fact = [&](const char* what, const std::string& says) {
      list += element("dt", what) + element("dd", says);
    };
    fact("model",
         q_.model.name + ": " + format_count(state_parameters(q_.model)) + " parameters, " + q.format.name);
    fact("cluster", q_.cluster.name);
    fact("load", load_words(a_));
    if (q.memory.rule != PoolRule::kReserve) fact("engine", q.memory.name + ", " + a_.domain.words);
    if (q.tpot_limit) fact("limit", format(*q.tpot_limit) + " for each output token");
    if (q.ttft_limit) fact("limit of the first", format(*q.ttft_limit) + " to the first token");
    if (q.rate) fact("rate", format_number(q.rate->raw()) + " requests a second");
    if (a_.shown().requests > per_s(0))
      fact("requests", format_number(a_.shown().requests.raw()) + " a second, all replicas");
    return element("dl.facts", list);
  }

  Section answer() const {
    return {"The answer", "answer",
            verdict() + element("p.plan", serve_plan_words(a_.shown())) + figures() +
                element("p.binding",
                        cards_.sentence(a_.findings.binding.statement, a_.findings.binding.figures)) +
                element("p.hint", "A number with a dotted line opens its formula.") + facts()};
  }

  Section engine() const {
    if (a_.engine.sentences.empty()) return {};
    Markup lines;
    for (const std::string& line : a_.engine.sentences) lines += paragraph(line);
    if (!a_.engine.error.empty()) lines += paragraph("it would not start: " + a_.engine.error);
    for (const EngineFix& fix : a_.engine.fixes)
      lines += paragraph("with " + fix.flag + " it starts: " + fix.price);
    return {"What the engine would print", "engine", lines};
  }

  Section memory() const {
    const Bytes<> hbm = q_.cluster.device.memory_reported.value, most = std::max(hbm, c_.held());
    const auto share = [&](Bytes<> b) { return (b / most).raw(); };
    HtmlTable table("Terms of the memory", "lrrw", {"term", "bytes", "of HBM", ""});
    const auto row = [&](const std::string& name, Bytes<> b, const std::string& note) {
      table.row({name, number(name.c_str(), format(b)), format_percent((b / hbm).raw()), note});
    };
    for (std::size_t i = 0; i < kWeightKindCount; ++i) {
      const auto kind = static_cast<WeightKind>(i);
      if (c_.memory.weights[i] > bytes(0))
        row(std::string("weights: ") + name(kind), c_.memory.weights[i],
            format_number(bits_of(a_.question.format, kind)) + " bits each");
    }
    row("key-value cache", c_.kept, cache_words(a_));
    if (c_.room.peak > bytes(0)) row("peak of the warm-up", c_.room.peak, "beside them, kept free");
    if (c_.room.outside > bytes(0)) row("outside the allocator", c_.room.outside, "context, communicators");
    table.last_row({"weights and cache", number("memory of each GPU", format(c_.held())),
                    format_percent((c_.held() / hbm).raw()), "of " + format(room()) + " for both"});
    const Bytes<> weights = c_.memory.total_weights();
    const Markup drawn = bar({{"memory-weights", share(weights), "weights " + format(weights)},
                              {"memory-activations", share(c_.kept), "key-value cache " + format(c_.kept)}},
                             {share(room()), share(hbm)});
    const bool reserve = a_.question.memory.rule == PoolRule::kReserve;
    return {
        "Memory of each GPU", "memory",
        element("figure",
                drawn + legend({{"memory-weights", "weights"}, {"memory-activations", "key-value cache"}})) +
            paragraph("The lines are what weights and cache may fill, " + format(room()) +
                      ", and all of HBM" +
                      (reserve ? "; between them is the reserve, " + reserve_words(q_.cluster) : "") + ".") +
            table.markup() + paragraph(capacity_words(a_))};
  }

  /// A sum as a bar and as a table; what hides beside the rest has no part in it.
  Section times(const char* heading, const char* id, const char* prefix, const std::vector<ServeTerm>& terms,
                const char* total, Seconds<> sum) const {
    std::vector<BarPart> drawn;
    std::vector<LegendEntry> entries;
    HtmlTable table(std::string("Terms of: ") + heading, "lrrw", {"term", "time", "share", ""});
    for (const ServeTerm& term : terms) {
      const double share = (term.time / sum).raw();
      table.row({term.name, number((prefix + std::string(term.name)).c_str(), format(term.time)),
                 term.hidden ? "" : format_percent(share),
                 term.hidden ? "beside the other, hidden" : term.note});
      if (term.hidden) continue;
      drawn.push_back({kind_of(term), share, term.name + (" " + format(term.time))});
      entries.push_back({kind_of(term), term.name});
    }
    table.last_row({"total", number(total, format(sum)), "", ""});
    return {heading, id, element("figure", bar(drawn) + legend(entries)) + table.markup()};
  }

  Section token() const {
    return times("Time of each output token", "token", "", token_terms(a_.shown()),
                 "time of each output token", c_.tpot);
  }

  Section prompt() const {
    return times("Time to the first token", "prompt", "prompt: ", first_token_terms(a_.shown()),
                 "time to the first token", a_.shown().ttft);
  }

  Section degrees() const {
    if (a_.plans().size() < 2) return {};
    HtmlTable table("Every legal split, each at its best batch", "lrrrrrrrw",
                    {"split", "GPUs", "batch", "memory", "TPOT", "TTFT", "tokens/s a GPU", "at once", ""});
    for (const ServePlan& p : a_.plans()) {
      table.row({serve_split_words(p.split) + (p.prefill ? ", prompts apart" : ""), count(p.gpus()),
                 count(p.batch), format(p.cost.held()), format(p.cost.tpot), format(p.ttft),
                 format_number(p.tokens_per_gpu().raw()), format_count(p.cost.room.requests.raw()),
                 &p == &a_.shown() && a_.feasible() ? "best" : verdict_words(p)});
    }
    return {"Every legal split", "degrees", table.markup()};
  }

  Section front() const {
    if (a_.search.front.size() < 2) return {};
    HtmlTable table("No split and batch makes more tokens of a GPU at as many of a user", "lrrrr",
                    {"split", "batch", "tokens/s a user", "tokens/s a GPU", "TTFT"});
    for (const ServePlan& p : a_.search.front) {
      table.row({serve_split_words(p.split), count(p.batch), format_number(1 / p.cost.tpot.raw()),
                 format_number(p.tokens_per_gpu().raw()), format(p.ttft)});
    }
    return {"The front", "front", element("figure", Markup::verbatim(serve_front_svg(a_))) + table.markup()};
  }

  const ServeAnswer& a_;
  const Question& q_;
  const ServeCost<>& c_;
  TraceRoots roots_;
  FormulaCards cards_;
};

}  // namespace

std::string serve_html(const ServeAnswer& answer) { return ServePage(answer).html(); }

}  // namespace shardplan
