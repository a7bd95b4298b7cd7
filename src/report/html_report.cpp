#include "report/html_report.h"

#include <algorithm>

#include "catalog/parameters.h"
#include "estimate/step_timeline.h"
#include "reason/remarks.h"
#include "report/html_charts.h"
#include "report/html_findings.h"
#include "report/html_formulas.h"
#include "report/html_parts.h"
#include "report/plan_trace.h"
#include "report/plan_words.h"
#include "report/run_report.h"
#include "report/timeline_svg.h"
#include "report/timeline_text.h"
#include "units/format.h"

namespace shardplan {
namespace {

// A larger drawing makes a page slow to open.
constexpr std::size_t kLargestDrawing = 700'000;

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

Markup plan_code(const Plan& plan) { return element("code", breakable(canonical(plan))); }

class PlanPage {
 public:
  PlanPage(const Estimator& estimator, const Answer& answer, const RunAnswer& run, const SearchTime& time)
      : estimator_(estimator),
        q_(estimator.question()),
        a_(answer),
        run_(run),
        time_(time),
        trace_(plan_trace(estimator, answer.result, run.objective)),
        cards_(trace_.roots()) {}

  std::string html() const {
    const std::string title = q_.model.name + " on " +
                              (run_.undecided() ? "" : count(q_.cluster.gpus) + " x ") +
                              q_.cluster.device.name;
    const std::vector<Section> all{nothing_fits_section(a_.nothing_fits),
                                   memory(),
                                   step(),
                                   time_line(),
                                   axes_section(q_.cluster, a_.axes, a_.not_used, cards_),
                                   alternatives(),
                                   front(),
                                   failure_section(a_.failure_modes, a_.judged_by, cards_),
                                   threshold_section(a_.thresholds, a_.not_sought),
                                   found() ? sensitivity_section(a_.sensitivity, best().step) : Section{},
                                   unknown_section(a_.unknowns, a_.nearest),
                                   source_section(q_, &q_.framework),
                                   cards_.section()};
    return report_page("shardplan plan", title, {answer()}, all);
  }

 private:
  const Estimate& best() const { return *a_.result.best; }
  bool found() const { return a_.result.best.has_value(); }

  // The answer.

  Markup verdict() const {
    const auto badge = [](const char* tag, const char* words) { return element(tag, words); };
    if (!found())
      return a_.result.stopped ? badge("p.verdict unknown", "no plan found yet")
                               : badge("p.verdict no", "nothing fits");
    if (run_.totals && !run_.totals->in_time) return badge("p.verdict no", "fits, but not in time");
    return a_.verdict == Verdict::kTight ? badge("p.verdict tight", "fits, tightly")
                                         : badge("p.verdict fits", "fits");
  }

  Markup figures() const {
    const Estimate& e = best();
    std::string band = "no measured run compares: no error band";
    if (a_.step_band) {
      const StepRange range = step_range(q_.workload, *a_.step_band, e.step);
      band = format(range.low) + " to " + format(range.high) + ", 8 in 10 of " + rows_text(*a_.step_band);
    }
    const auto number = [&](const char* name, const std::string& value) {
      return cards_.number(trace_.headline, name, value);
    };
    return element(
        "dl.figures",
        headline_figure("time of a step", number("step", format(e.step)), band) +
            headline_figure("throughput", number("throughput", format(e.tokens_per_gpu)), "of a GPU") +
            headline_figure("MFU", number("MFU", format_percent(e.mfu.raw())),
                            "HFU " + number("HFU", format_percent(e.hfu.raw()))) +
            headline_figure("memory left free", number("memory left free", format(e.headroom())),
                            "of " + format(e.usable) + " usable, fullest GPU"));
  }

  Markup degrees() const {
    const Plan& p = best().plan;
    Markup items;
    const auto item = [&](const char* what, const std::string& value) {
      items += element("li", Markup(what) + " " + element("b", value));
    };
    const auto degree = [&](const char* what, std::int64_t n) {
      if (n > 1) item(what, count(n));
    };
    item("data", count(p.dp));
    degree("tensor", p.tp);
    degree("pipeline", p.pp);
    degree("context", p.cp);
    degree("expert", p.ep);
    degree("tensor inside experts", p.etp);
    item("ZeRO stage", count(p.zero_stage));
    item("micro-batch", count(p.micro_batch));
    item("gradient accumulation", count(p.grad_accumulation));
    degree("chunks a stage", p.interleave);
    if (p.first_layers != Plan::kEven) item("layers of the first chunk", count(p.first_layers));
    if (p.last_layers != Plan::kEven) item("layers of the last chunk", count(p.last_layers));
    if (p.pp > 1) item("schedule", name(p.schedule));
    item("recompute", name(p.recompute));
    if (p.offload != 0) item("offload", offload_names(p.offload));
    return element("ul.degrees", items);
  }

  Markup facts() const {
    Markup list;
    const auto fact = [&](const std::string& what, const Markup& says) {
      list += element("dt", what) + element("dd", says);
    };
    fact("model", q_.model.name + ": " + format_count(state_parameters(q_.model)) + " parameters");
    for (const NamedCount& extra : q_.model.extras)
      fact("not counted", extra.name + " " + count(extra.parameters));
    fact("cluster", run_.undecided() ? q_.cluster.device.name : q_.cluster.name);
    fact("batch",
         counted(q_.workload.global_batch, "sequence") + " of " + counted(q_.workload.sequence, "token"));
    for (const RunFact& f : run_facts(run_)) {
      const bool has_formula = std::any_of(trace_.run.begin(), trace_.run.end(),
                                           [&](const auto& root) { return root.first == f.what; });
      fact(f.what, has_formula ? f.words + "; by " + cards_.number(trace_.run, f.what, "this formula")
                               : Markup(f.words));
    }
    return element("dl.facts", list);
  }

  Section answer() const {
    Markup content = verdict();
    if (found()) content += element("p.plan", plan_code(best().plan)) + degrees() + figures();
    if (!a_.binding.statement.empty())
      content += element("p.binding", cards_.sentence(a_.binding.statement, a_.binding.figures));
    for (const std::string& sentence : tight_sentences(a_)) content += paragraph(breakable(sentence));
    if (a_.result.stopped) content += paragraph(stopped_words(a_.result));
    if (!a_.not_looked_at.empty()) {
      content += paragraph("not looked at to the end, as the search was stopped:") +
                 list({a_.not_looked_at.begin(), a_.not_looked_at.end()});
    }
    if (const std::string head = run_headline(run_); !head.empty()) content += paragraph(head);
    if (!cards_.empty()) content += element("p.hint", "A number with a dotted line opens its formula.");
    return {"The answer", "answer", content + facts()};
  }

  // Memory and time.

  Section memory() const {
    if (found()) {
      const MemoryAccount& m = a_.memory.front();
      return {
          "Memory of each pipeline stage", "memory",
          memory_figure({m.by_stage, m.usable, m.hbm, m.fullest, 0, best().plan.pp}, cards_, trace_.memory)};
    }
    const auto& miss = a_.result.census.nearest_miss;
    if (!miss) return {};
    const Cluster& c = q_.cluster;
    return {
        "Memory of the plan that comes closest", "memory",
        paragraph(breakable(miss_words(*miss))) +
            memory_figure(
                {{miss->memory}, c.usable(), c.device.memory_reported.value, 0, miss->stage, miss->plan.pp},
                cards_, trace_.memory)};
  }

  Markup conventions() const {
    HtmlTable table("The same step under each convention in use", "lrrw",
                    {"convention", "MFU", "HFU", "counted so by"});
    Markup remarks;
    for (const Utilisation& u : a_.utilisations.front()) {
      table.row({u.convention, format_percent(u.mfu.raw()), format_percent(u.hfu.raw()), u.where});
      if (more_than_all(u)) remarks += paragraph(more_than_all_words(u));
    }
    return details(
        "MFU under other conventions",
        paragraph(std::string("MFU here: ") + flops_convention(q_.workload)) + table.markup() + remarks);
  }

  Section step() const {
    if (!found()) return {};
    return {"Time of one step", "step", time_figure(best().time, cards_, trace_.time) + conventions()};
  }

  Section time_line() const {
    if (!found()) return {};
    const StepTimeline line = estimator_.step_timeline(best().plan);
    const std::string svg = timeline_svg(line, timeline_title(q_, line.plan));
    if (svg.size() > kLargestDrawing) {
      return {"Time line of one step", "time-line",
              paragraph("step " + timeline_sentence(line) + "; the drawing of " + count(line.plan.pp) +
                        " stages is too large for this page: --timeline FILE.svg writes it")};
    }
    return {"Time line of one step", "time-line",
            element("div.scroll", {{"role", "region"}, {"aria-label", "time line"}, {"tabindex", "0"}},
                    Markup::verbatim(svg))};
  }

  // What else there is.

  Markup runners_up() const {
    HtmlTable table("Runners-up, the best plan of each other layout", "wrrrw",
                    {"plan", "step", "more", "free", ""});
    table.row({plan_code(best().plan), format(best().step), "", format(best().headroom()), "best"});
    for (const Estimate& e : a_.result.runners_up) {
      const auto tie = tie_between(best(), e);
      table.row({plan_code(e.plan), format(e.step),
                 "+" + format_percent(e.step.raw() / best().step.raw() - 1), format(e.headroom()),
                 tie ? tie_words(*tie) : ""});
    }
    return table.markup();
  }

  Markup census() const {
    const Census& c = a_.result.census;
    HtmlTable table("All legal plans, and what became of them", "lrlw", {"plans", "count", "", "why"});
    const auto row = [&](const std::string& what, std::int64_t n, const char* kind, const std::string& why) {
      const double share = static_cast<double>(n) / static_cast<double>(c.considered);
      table.row({what, count(n), bar({{kind, share, count(n)}}), why});
    };
    for (const CensusRow& r : census_rows(c))
      row(r.what, r.count, r.what.starts_with("rejected") ? "rejected" : "excluded", r.why);
    row("fit", c.feasible, "feasible", "worked out, and fit");
    return paragraph("Searched " + searched_words(c, seconds(time_.seconds)) + ".") + table.markup();
  }

  Markup precisions() const {
    HtmlTable table("Precisions asked for, each with its best plan", "lrww",
                    {"precision", "step", "plan", ""});
    for (const PrecisionAnswer& p : run_.precisions) {
      table.row({p.name, p.best ? format(p.best->step) : "", p.best ? plan_code(p.best->plan) : Markup(),
                 p.best                 ? (p.chosen ? "chosen" : "")
                 : p.impossible.empty() ? "nothing fits"
                                        : p.impossible});
    }
    return table.markup();
  }

  Section alternatives() const {
    return {"Other plans", "others", (found() ? runners_up() : Markup()) + precisions() + census()};
  }

  Section front() const {
    if (!run_.pareto || run_.pareto->plans.empty()) return {};
    HtmlTable table("Plans that no other beats in GPUs, step time and memory left free", "lrrw",
                    {"GPUs", "step", "free", "plan"});
    for (const Estimate& e : run_.pareto->plans) {
      Markup plan = plan_code(e.plan);
      if (run_.best && run_.best->plan == e.plan) plan += " best";
      table.row({count(e.plan.gpus()), format(e.step), format(e.headroom()), plan});
    }
    const Markup drawing =
        element("div.scroll", {{"role", "region"}, {"aria-label", "front"}, {"tabindex", "0"}},
                element("div.drawing", Markup::verbatim(pareto_svg(run_, pareto_title(q_)))));
    return {"Plans that no other beats", "front",
            drawing +
                (run_.pareto->stopped ? paragraph("stopped before its end: there may be others") : Markup()) +
                details("as a table", table.markup())};
  }

  const Estimator& estimator_;
  const Question& q_;
  const Answer& a_;
  const RunAnswer& run_;
  const SearchTime& time_;
  PlanTrace trace_;
  FormulaCards cards_;
};

}  // namespace

std::string plan_html(const Estimator& estimator, const Answer& answer, const RunAnswer& run,
                      const SearchTime& time) {
  return PlanPage(estimator, answer, run, time).html();
}

}  // namespace shardplan
