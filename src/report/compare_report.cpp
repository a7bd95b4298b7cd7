#include "report/compare_report.h"

#include <cmath>

#include "reason/term_words.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

/// How the two are called in tables.
struct Labels {
  const char *a, *b;
};
constexpr Labels kCompared{"PLAN_A", "PLAN_B"};
constexpr Labels kBestAndKind{"best", "asked for"};

std::string hidden_words(const TimeEntry<>& entry) {
  return entry.hidden.raw() > 0 ? format(entry.hidden) + " hidden" : "";
}

/// Sums in another order differ in their last digits: less than this share of the whole is no difference.
constexpr double kRounded = 1e-9;

/// A difference with its sign; nothing where there is none.
template <class Q>
std::string signed_words(Q more, Q whole) {
  if (std::fabs(more.raw()) <= kRounded * whole.raw()) return "";
  return (more.raw() < 0 ? "-" : "+") + format(more.raw() < 0 ? Q(-more.raw()) : more);
}

std::string plan_lines(const Labels& labels, const Comparison& c) {
  Table table("ll");
  const auto row = [&](const char* label, const ComparedPlan& one) {
    const MemoryAccount& m = one.memory;
    table.row({label, canonical(one.estimate.plan),
               (one.fits() ? "fits: " : "does not fit: ") + format(m.worst().total()) + " of " +
                   format(m.usable) + " usable"});
  };
  row(labels.a, c.a);
  row(labels.b, c.b);
  return table.text("", true);
}

std::string time_lines(const Labels& labels, const Comparison& c) {
  Table table("lrlrlr");
  table.row({"", labels.a, "", labels.b, "", "difference"});
  for (const TimeDifference& t : c.time) {
    table.row({words(t.term), format(t.a.exposed()), hidden_words(t.a), format(t.b.exposed()),
               hidden_words(t.b), signed_words(t.more(), c.step_a)});
  }
  table.row({c.per_sequence ? "a sequence" : "step", format(c.step_a), "", format(c.step_b), "",
             signed_words(c.step_b - c.step_a, c.step_a)});
  return "\ntime of one " + std::string(c.per_sequence ? "sequence" : "step") +
         ", the largest difference first\n" + table.text();
}

std::string why_lines(const Labels& labels, const Comparison& c) {
  Table table("ll");
  for (const TimeDifference& t : c.time) {
    if (signed_words(t.more(), c.step_a).empty() || t.why_a == t.why_b) continue;
    const auto line = [&](const char* label, const std::string& why) {
      table.row({label == labels.a ? words(t.term) : "", label, why.empty() ? "none" : why});
    };
    line(labels.a, t.why_a);
    line(labels.b, t.why_b);
  }
  return table.empty() ? "" : "\nwhat makes them differ\n" + table.text("  ", true);
}

std::string stage_words(const ComparedPlan& one) {
  const int stages = one.estimate.plan.pp;
  return stages == 1 ? "each GPU"
                     : "stage " + std::to_string(one.memory.fullest) + " of " + std::to_string(stages);
}

std::string memory_lines(const Labels& labels, const Comparison& c) {
  Table table;
  table.row({"", labels.a, labels.b, "difference"});
  table.row({"", stage_words(c.a), stage_words(c.b)});
  const Bytes<> a = c.a.memory.worst().total(), b = c.b.memory.worst().total();
  for (const MemoryDifference& m : c.memory)
    table.row({words(m.term), format(m.a), format(m.b), signed_words(m.b - m.a, a)});
  table.row({"total", format(a), format(b), signed_words(b - a, a)});
  const auto left = [](const ComparedPlan& one) {
    const Bytes<> headroom = one.memory.headroom();
    return headroom.raw() < 0 ? format(bytes(-headroom.raw())) + " too much" : format(headroom) + " free";
  };
  table.row({"of " + format(c.a.memory.usable) + " usable", left(c.a), left(c.b)});
  return "\nmemory of the fullest GPU\n" + table.text();
}

std::string listed(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = std::string("\n") + title + "\n";
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

std::string comparison_lines(const Labels& labels, const Comparison& c) {
  return plan_lines(labels, c) + time_lines(labels, c) + why_lines(labels, c) + memory_lines(labels, c);
}

std::vector<std::string> together(std::vector<std::string> first, const std::vector<std::string>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

Json side_json(const ComparedPlan& one, Seconds<> step) {
  const Estimate& e = one.estimate;
  return {{"plan", plan_json(e.plan)},
          {"memory", memory_json(one.memory)},
          {"fits", one.fits()},
          {"binding_constraint", one.broken ? binding_json(*one.broken) : Json(nullptr)},
          {"step_time_s", e.step.raw()},
          {"sequences", e.plan.sequences()},
          {"compared_time_s", step.raw()},
          {"mfu", e.mfu.raw()},
          {"hfu", e.hfu.raw()},
          {"breakdown", breakdown_json(e.time)}};
}

Json entry_json(const TimeEntry<>& entry, const std::string& why) {
  return {{"time_s", entry.time.raw()},
          {"hidden_s", entry.hidden.raw()},
          {"exposed_s", entry.exposed().raw()},
          {"why", why}};
}

/// `a`, `b`: the keys of the two.
void add_comparison(const Comparison& c, const char* a, const char* b, Json& json) {
  json[a] = side_json(c.a, c.step_a);
  json[b] = side_json(c.b, c.step_b);
  json["figures"] = figures_json(c.figures);
  json["per"] = c.per_sequence ? "sequence" : "step";
  json["difference_s"] = (c.step_b - c.step_a).raw();
  json["told_apart"] = c.band ? Json(c.told_apart()) : Json(nullptr);
  json["error_band"] = c.band ? Json{{"low_ratio", c.band->low_ratio},
                                     {"high_ratio", c.band->high_ratio},
                                     {"rows", c.band->rows},
                                     {"share", kTimeBandShare}}
                              : Json(nullptr);
  json["terms"] = Json::array();
  for (const TimeDifference& t : c.time) {
    json["terms"].push_back({{"name", name(t.term)},
                             {a, entry_json(t.a, t.why_a)},
                             {b, entry_json(t.b, t.why_b)},
                             {"difference_s", t.more().raw()}});
  }
  json["memory_terms"] = Json::array();
  for (const MemoryDifference& m : c.memory) {
    json["memory_terms"].push_back({{"name", name(m.term)},
                                    {std::string(a) + "_bytes", m.a.raw()},
                                    {std::string(b) + "_bytes", m.b.raw()},
                                    {"difference_bytes", (m.b - m.a).raw()}});
  }
}

}  // namespace

std::string compare_text(const Question& q, const Comparison& c, const std::vector<std::string>& assumed) {
  return std::string(c.first_is_better() ? "PLAN_A: "
                     : c.b.fits()        ? "PLAN_B: "
                                         : "") +
         c.statement + "\n\n" + comparison_lines(kCompared, c) + listed("notes", q.notes) +
         listed("assumed", together(q.assumed, assumed));
}

Json compare_json(const Question& q, const Comparison& c, const std::vector<std::string>& assumed) {
  Json json{{"better", c.first_is_better() ? Json("plan_a")
                       : c.b.fits()        ? Json("plan_b")
                                           : Json(nullptr)},
            {"statement", c.statement}};
  add_comparison(c, "plan_a", "plan_b", json);
  json["assumed"] = together(q.assumed, assumed);
  json["notes"] = q.notes;
  return json;
}

std::string why_not_text(const Question& q, const WhyNot& w) {
  std::string text = w.statement + "\n";
  const bool same = w.comparison && w.comparison->a.estimate.plan == w.comparison->b.estimate.plan;
  if (w.comparison && !same) {
    text += "\n" + comparison_lines(kBestAndKind, *w.comparison);
  } else if (w.best.best && !same) {
    const Estimate& best = *w.best.best;
    text += "the best plan is " + canonical(best.plan) + ": " + format(best.step) + " a step, " +
            format(best.headroom()) + " free\n";
  }
  return text + listed("notes", q.notes) + listed("assumed", q.assumed);
}

Json why_not_json(const Question& q, const WhyNot& w) {
  Json json{{"asked", w.what}, {"as_good", w.as_good}, {"statement", w.statement}, {"stopped", w.stopped()}};
  json["illegal"] = w.illegal ? Json{{"constraint", name(w.illegal->constraint)}, {"where", w.illegal->where}}
                              : Json(nullptr);
  json["binding_constraint"] = w.broken ? binding_json(*w.broken) : Json(nullptr);
  json["best"] = nullptr;
  json["other"] = nullptr;
  if (w.comparison) {
    add_comparison(*w.comparison, "best", "other", json);
  } else if (w.best.best) {
    const Estimate& best = *w.best.best;
    json["best"] = {{"plan", plan_json(best.plan)}, {"step_time_s", best.step.raw()}};
  }
  json["nearest_miss"] = nearest_miss_json(w.with ? w.with->census.nearest_miss : std::nullopt);
  json["assumed"] = q.assumed;
  json["notes"] = q.notes;
  return json;
}

}  // namespace shardplan
