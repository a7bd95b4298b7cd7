#include "report/html_findings.h"

#include <algorithm>
#include <map>

#include "report/catalog_report.h"
#include "report/finding_lines.h"
#include "report/html_charts.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

const char* axis_words(const std::string& axis) {
  if (axis == "dp") return "data parallelism";
  if (axis == "dp\u00b7cp") return "gradients over the ranks of a sequence";
  if (axis == "zero") return "ranks that share the state";
  if (axis == "tp") return "tensor parallelism";
  if (axis == "pp") return "pipeline parallelism";
  if (axis == "cp") return "context parallelism";
  if (axis == "ep") return "expert parallelism";
  return "";
}

/// What an axis needs beside what its link has.
Markup gauge(const AxisFinding& x) {
  if (!x.available_bandwidth) return {};
  const BytesPerSecond<> has = *x.available_bandwidth;
  if (!x.required_bandwidth)
    return element("div.gauge", paragraph("no bandwidth is enough; the link has " + format(has)));
  const BytesPerSecond<> needs = *x.required_bandwidth, most = std::max(needs, has);
  const BytesPerSecond<> within = std::min(needs, has);
  const std::string words = "needs " + format(needs) + " of " + format(has);
  std::vector<BarPart> parts{{"needed", (within / most).raw(), words},
                             {"lacking", ((needs - within) / most).raw(), words},
                             {"spare", ((has - within) / most).raw(), "has " + format(has)}};
  parts.erase(std::remove_if(parts.begin(), parts.end(), [](const BarPart& p) { return !(p.share > 0); }),
              parts.end());
  return element("div.gauge", bar(parts, {(has / most).raw()}) + paragraph(words));
}

Markup axis_item(const AxisFinding& x, const FormulaCards& cards) {
  return element("li.axis", element("h3", Markup(x.axis + " ") + element("b", count(x.degree)) +
                                              element("small", std::string(" ") + axis_words(x.axis))) +
                                gauge(x) + paragraph(cards.sentence(x.reason, x.figures)));
}

Markup axes_on(const std::vector<AxisFinding>& axes, const std::string& tier, const FormulaCards& cards) {
  Markup items;
  for (const AxisFinding& x : axes) {
    if (x.tier == tier) items += axis_item(x, cards);
  }
  return items.empty() ? Markup() : element("ul.axes", items);
}

Markup device_box(const Device& d) {
  return element("div.tier", element("p.tier-head", element("b", d.name) + " " +
                                                        format(d.memory_reported.value) + " of HBM"));
}

/// A tier and all inside it.
Markup tier_box(const Cluster& cluster, const std::vector<AxisFinding>& axes, std::size_t tier,
                const FormulaCards& cards) {
  const Tier& t = cluster.tiers[tier];
  std::string words = "joins " + count(std::min(t.size, cluster.gpus)) +
                      " GPUs: " + format(t.bandwidth.value) + " a GPU, " + format(t.latency.value) +
                      " a step";
  if (t.oversubscription.value > ratio(1))
    words += ", oversubscribed " + format(t.oversubscription.value) + " : 1";
  const Markup inside = tier > 0 ? tier_box(cluster, axes, tier - 1, cards) : device_box(cluster.device);
  return element("div.tier", element("p.tier-head", element("b", t.name) + " " + words) +
                                 axes_on(axes, t.name, cards) + inside);
}

Markup linked(const std::string& source) {
  if (!source.starts_with("https://") && !source.starts_with("http://")) return source;
  return element("a", {{"href", source}}, source);
}

/// The catalog's figures with their sources, each of which is told once, below, and has a number.
class Figures {
 public:
  void add(const std::string& what, const CatalogEntry& entry) {
    HtmlTable table(what + " " + entry.name, "lrlw", {"figure", "value", "source", "note"});
    for (const CatalogEntry::Row& row : entry.rows)
      table.row({row.what, row.text, reference(row.source), row.source.note});
    tables_ += details(what + " " + entry.name, table.markup());
  }
  Markup markup() const { return tables_ + element("ol.source-list", sources_); }

 private:
  Markup reference(const Source& source) {
    if (source.id.empty() && source.title.empty()) return {};
    const auto [known, fresh] =
        numbers_.try_emplace(source_text(source), std::to_string(numbers_.size() + 1));
    const std::string id = "source-" + known->second;
    if (fresh) sources_ += element("li", {{"id", id}}, known->first);
    return element("a", {{"href", "#" + id}}, "[" + known->second + "]");
  }

  std::map<std::string, std::string> numbers_;
  Markup tables_, sources_;
};

std::vector<Markup> texts(const std::vector<std::string>& lines) { return {lines.begin(), lines.end()}; }

}  // namespace

Section nothing_fits_section(const std::optional<NothingFits>& why) {
  if (!why) return {};
  std::vector<Markup> limits;
  for (const Limit& limit : why->limits) limits.push_back(breakable(limit.statement));
  HtmlTable table("The smallest changes with which a plan fits, each alone and planned again", "wwwr",
                  {"change", "price", "plan", "step"});
  for (const FittingChange& change : why->changes) {
    table.row({breakable(change.statement), breakable(change.price),
               element("code", breakable(canonical(change.plan))), format(change.step)});
  }
  return {"Why nothing fits", "nothing-fits",
          paragraph(breakable(why->proof)) +
              paragraph("No plan keeps all of these limits, and without any one of them some plan fits:") +
              list(limits) + table.markup()};
}

Section axes_section(const Cluster& cluster, const std::vector<AxisFinding>& axes,
                     const std::vector<UnusedAxis>& not_used, const FormulaCards& cards) {
  Markup content = tier_box(cluster, axes, cluster.tiers.size() - 1, cards), unused;
  for (const UnusedAxis& x : not_used)
    unused += element("dt", x.axis) + element("dd", cards.sentence(x.reason, x.figures));
  if (!unused.empty()) content += element("h3", "Axes not used") + element("dl.facts", unused);
  return {"The machine and its axes", "axes", content};
}

Section failure_section(const std::vector<FailureMode>& modes, const std::vector<JudgedBy>& judged_by,
                        const FormulaCards& cards) {
  HtmlTable table("Failure modes that the plan accepts", "wwww",
                  {"it accepts that", "symptom", "watch", "arrived"});
  for (const FailureMode& f : modes) {
    table.row({cards.sentence(f.statement, f.figures), f.symptom, f.metric,
               f.level ? cards.sentence(f.level->statement, f.figures) : Markup()});
  }
  HtmlTable figures("What these and the axes are judged by", "www", {"figure", "source", "why"});
  for (const JudgedBy& j : judged_by) figures.row({j.statement, source_text(j.source), j.source.note});
  return {"Failure modes accepted", "failures", table.markup() + figures.markup()};
}

Section threshold_section(const std::vector<Threshold>& thresholds,
                          const std::vector<NotSought>& not_sought) {
  HtmlTable table("Each alone and the batch as it is, nearest first", "lrrw", {"input", "now", "at", "then"});
  for (const Threshold& t : thresholds) {
    table.row({t.parameter, threshold_value(t.current, t.unit), threshold_value(t.threshold, t.unit),
               breakable(t.then)});
  }
  Markup others;
  if (!thresholds.empty()) {
    others += paragraph(
        "Each value was found by halving, with a search at every step, and confirmed by a search at it and one just "
        "before it; the flag of that input asks again.");
  }
  for (const NotSought& n : not_sought) others += paragraph(n.parameter + " is not sought: " + n.reason);
  return {"What would change the answer", "thresholds", table.markup() + others};
}

Section sensitivity_section(const std::vector<Sensitivity>& rows, Seconds<> step, const std::string& what) {
  Seconds<> low = step, high = step;
  for (const Sensitivity& s : rows) {
    low = std::min({low, s.step_low, s.step_high});
    high = std::max({high, s.step_low, s.step_high});
  }
  const auto share = [&](Seconds<> from, Seconds<> to) {
    return std::max(0.0, ((to - from) / (high - low)).raw());
  };
  HtmlTable table("The " + what + " with one input at either end of its range, the largest first", "lrrrlrrl",
                  {"input", "now", "from", "to", "", what, "to", "range"});
  for (const Sensitivity& s : rows) {
    const Seconds<> from = std::min(s.step_low, s.step_high), to = std::max(s.step_low, s.step_high);
    table.row({s.parameter, threshold_value(s.current, s.unit), threshold_value(s.low, s.unit),
               threshold_value(s.high, s.unit),
               bar({{"none", share(low, from), ""},
                    {"faster", share(from, std::min(step, to)), format(from)},
                    {"slower", share(std::max(step, from), to), format(to)}},
                   {share(low, step)}),
               format(s.step_low), format(s.step_high), s.range});
  }
  return {what == "step" ? "What the step is sensitive to" : "What a token is sensitive to", "sensitivity",
          table.markup() + (rows.empty()
                                ? Markup{}
                                : paragraph("Each time is that of the same plan, worked out again with the "
                                            "one input at that end."))};
}

Section unknown_section(const std::vector<Unknown>& unknowns, const std::vector<NearRun>& nearest) {
  HtmlTable gaps("What the model does not know, and how much it may be", "ww", {"unknown", "magnitude"});
  for (const Unknown& u : unknowns) gaps.row({u.statement, u.magnitude.empty() ? "not known" : u.magnitude});
  HtmlTable runs("Measured runs nearest to this one, and what they are predicted", "wrrw",
                 {"run", "measured", "predicted", "source"});
  for (const NearRun& n : nearest) {
    runs.row({title(n.run.profile), format(n.run.measured), format(n.run.predicted),
              element("code", n.run.id) + " " + linked(n.run.source)});
  }
  return {"What is not known", "unknowns", gaps.markup() + runs.markup()};
}

Section source_section(const Question& q, const Framework* framework) {
  Markup content;
  if (!q.notes.empty()) content += element("h3", "Notes") + list(texts(q.notes));
  if (!q.assumed.empty()) content += element("h3", "Assumed, as it was not told") + list(texts(q.assumed));
  Figures figures;
  figures.add("model", catalog_entry(q.model));
  figures.add("cluster", catalog_entry(q.cluster));
  figures.add("GPU", catalog_entry(q.cluster.device));
  if (framework != nullptr) figures.add("framework", catalog_entry(*framework));
  content += element("h3", "Figures and where they are from") + figures.markup();
  return {"Assumptions and sources", "sources", content};
}

}  // namespace shardplan
