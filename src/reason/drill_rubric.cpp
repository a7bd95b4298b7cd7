#include "reason/drill_rubric.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "reason/cited_quantity.h"
#include "units/format.h"

namespace shardplan {
namespace {

// A number is right when it is this close to the worked one.
constexpr double kTolerance = 0.05;
// Fewer words than this say nothing.
constexpr int kWordsMin = 2;

struct Mark {
  bool passed = false;
  std::string reason;
};

int words(const std::string& text) {
  int count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank && !inside) ++count;
    inside = !blank;
  }
  return count;
}

bool is_time_kind(const std::string& kind) {
  static constexpr std::array<const char*, 5> kKinds{"compute", "hbm_bandwidth", "bubble", "host",
                                                     "prefill_interference"};
  return kind.starts_with("link:") || std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

/// "throughput" is the course's word for any kind of time but latency.
bool same_kind(const std::string& told, const std::string& right) {
  return told == right || (told == "throughput" && is_time_kind(right));
}

bool near(const CitedQuantity& cited, const Figure& figure) {
  return cited.unit == figure.unit &&
         std::fabs(cited.value - figure.value) <= kTolerance * std::fabs(figure.value);
}

const Figure* find_near(const CitedQuantity& cited, const std::vector<Figure>& figures) {
  const auto same = [&](const Figure& f) { return near(cited, f); };
  const auto at = std::find_if(figures.begin(), figures.end(), same);
  return at == figures.end() ? nullptr : &*at;
}

void add_stated(const std::vector<StatedFigure>& stated, std::vector<Figure>& values) {
  for (const StatedFigure& f : stated) {
    const bool plain = f.unit.empty() || f.unit == "share";
    values.push_back({f.id, f.value, plain ? "ratio" : f.unit, ""});
    // A sentence's own nouns.
    if (f.id == "all_reduces") values.push_back({f.id, f.value, "all-reduces", ""});
    if (f.id == "batch") values.push_back({f.id, f.value, "sequences", ""});
  }
}

/// What of a plan and its scenario can be counted.
void add_counts(const DrillSolution& s, std::vector<Figure>& values) {
  const auto add = [&](const char* noun, double count) { values.push_back({noun, count, noun, ""}); };
  if (s.plan) {
    add("replicas", s.plan->dp);
    add("stages", s.plan->pp);
    add("micro-batches", s.plan->grad_accumulation);
    add("sequences", s.plan->micro_batch);
    add("sequences", static_cast<double>(s.plan->sequences()));
  }
  // What the scenario tells of its model and its load.
  for (const DrillCommand* command : {&s.asked, &s.binds}) {
    for (const auto& [flag, value] : command->flags) {
      const auto number = parse_number(value);
      if (!number) continue;
      if (flag == "--layers") add("layers", *number);
      if (flag == "--batch" || flag == "--global-batch" || flag == "--micro-batch") add("sequences", *number);
    }
  }
}

/// Those that show what binds: of the statement, and of what was worked out before it.
std::vector<Figure> binding_values(const DrillSolution& s) {
  std::vector<Figure> values;
  add_stated(s.findings.binding.figures, values);
  for (const DrillTable& table : s.tables) values.insert(values.end(), table.rows.begin(), table.rows.end());
  return values;
}

/// What may be told of what binds: that, and what the scenario gives.
std::vector<Figure> constraint_values(const DrillSolution& s) {
  std::vector<Figure> values = binding_values(s);
  values.insert(values.end(), s.given.begin(), s.given.end());
  add_counts(s, values);
  return values;
}

/// What may be told of an axis: what the worked answer says of it, used or not, and what binds.
std::vector<Figure> axis_values(const DrillSolution& s, const std::string& axis) {
  std::vector<Figure> values = constraint_values(s);
  for (const AxisFinding& x : s.findings.axes) {
    // The reduction over replicas is told of dp, of ZeRO or of both.
    const bool reduction = (x.axis == "zero" || x.axis.starts_with("dp")) && (axis == "dp" || axis == "zero");
    if (x.axis != axis && !reduction) continue;
    add_stated(x.figures, values);
    for (const auto& bandwidth : {x.required_bandwidth, x.available_bandwidth})
      if (bandwidth) values.push_back({x.axis, bandwidth->raw(), "bytes/s", ""});
    for (const auto& link : x.links) {
      values.push_back({x.axis, link.available.raw(), "bytes/s", ""});
      if (link.required) values.push_back({x.axis, link.required->raw(), "bytes/s", ""});
    }
  }
  for (const UnusedAxis& x : s.findings.not_used)
    if (x.axis == axis) add_stated(x.figures, values);
  return values;
}

/// Ratios follow from others in too many ways to be called wrong.
bool is_graded(const CitedQuantity& cited) {
  static constexpr std::array<const char*, 6> kUnits{"bytes", "s", "bytes/s", "FLOP/s", "tokens", "GPUs"};
  return std::find(kUnits.begin(), kUnits.end(), cited.unit) != kUnits.end();
}

/// Counts of things are right to the last one, where the worked answer counts such things.
bool is_counted(const CitedQuantity& cited, const std::vector<Figure>& known) {
  static constexpr std::array<const char*, 6> kNouns{"all-reduces", "replicas",      "sequences",
                                                     "layers",      "micro-batches", "stages"};
  return std::find(kNouns.begin(), kNouns.end(), cited.unit) != kNouns.end() &&
         std::any_of(known.begin(), known.end(), [&](const Figure& f) { return f.unit == cited.unit; });
}

/// So many GPUs can be a group of them.
bool is_group(const CitedQuantity& cited, const DrillSolution& s) {
  const double gpus = static_cast<double>(s.gpus);
  return cited.unit == "GPUs" && cited.value >= 1 && std::fmod(gpus, cited.value) == 0;
}

/// A number that the worked answer does not have, or nothing.
std::optional<std::string> wrong_number(const std::string& told, const std::vector<Figure>& known,
                                        const DrillSolution& solution) {
  for (const CitedQuantity& cited : cited_quantities(told)) {
    if (!is_graded(cited) && !is_counted(cited, known)) continue;
    if (is_group(cited, solution) || find_near(cited, known) != nullptr) continue;
    // The nearest one of its unit is what it was to be.
    const Figure* nearest = nullptr;
    const auto away = [&](const Figure& f) { return std::fabs(std::log(f.value / cited.value)); };
    for (const Figure& f : known) {
      if (f.unit != cited.unit || f.value <= 0) continue;
      if (nearest == nullptr || away(f) < away(*nearest)) nearest = &f;
    }
    return text({"", cited.value, cited.unit, ""}) + " is not within " + format_percent(kTolerance) +
           " of any number that the worked answer has for it" +
           (nearest == nullptr ? "" : "; the nearest is " + nearest->label + ", " + text(*nearest));
  }
  return std::nullopt;
}

Mark grade_constraint(const DrillAnswer::Scenario& told, const DrillSolution& solution) {
  const BindingConstraint& right = solution.findings.binding;
  if (told.constraint.kind.empty()) return {false, "no constraint is named"};
  if (told.constraint.kind == "memory") {
    return {false, "\"memory\" is not a constraint: state, activations, logits, weights or kv_cache?"};
  }
  if (!same_kind(told.constraint.kind, right.kind)) {
    return {false, "names " + told.constraint.kind + ", but " + right.statement};
  }
  const std::vector<CitedQuantity> cited = cited_quantities(told.constraint.statement);
  if (cited.empty()) return {false, "names " + told.constraint.kind + " without a number and its unit"};
  if (const auto wrong = wrong_number(told.constraint.statement, constraint_values(solution), solution))
    return {false, *wrong};
  const std::vector<Figure> values = binding_values(solution);
  for (const CitedQuantity& c : cited) {
    if (const Figure* f = find_near(c, values))
      return {true, "names " + told.constraint.kind + " and its " + f->label + ", " + text(*f)};
  }
  return {false, "no number of its statement shows what binds: " + right.statement};
}

std::vector<std::pair<const char*, std::int32_t>> used_axes(const Plan& plan) {
  std::vector<std::pair<const char*, std::int32_t>> used;
  for (const auto& [axis, degree] :
       {std::pair{"dp", plan.dp}, {"tp", plan.tp}, {"pp", plan.pp}, {"cp", plan.cp}, {"ep", plan.ep}}) {
    if (degree > 1) used.emplace_back(axis, degree);
  }
  return used;
}

Mark grade_axes(const DrillAnswer::Scenario& told, const DrillSolution& solution) {
  if (told.no_plan && solution.plan) return {false, "no axis is given, and a plan exists"};
  if (told.no_plan) return {true, "no plan, so no axis to defend"};
  if (!told.plan) return {false, "no plan is given"};
  const auto used = used_axes(*told.plan);
  if (used.empty()) return {false, "no axis has a degree above 1"};
  for (const auto& [axis, degree] : used) {
    const auto same = [&, name = std::string(axis)](const DrillAnswer::Axis& x) { return x.axis == name; };
    const auto at = std::find_if(told.axes.begin(), told.axes.end(), same);
    if (at == told.axes.end())
      return {false, std::string(axis) + " " + std::to_string(degree) + " is used and not defended"};
    if (cited_quantities(at->why).empty()) {
      return {false, std::string(axis) + " " + std::to_string(degree) +
                         " is defended without a number and its unit"};
    }
  }
  for (const DrillAnswer::Axis& x : told.axes) {
    if (const auto wrong = wrong_number(x.why, axis_values(solution, x.axis), solution))
      return {false, x.axis + ": " + *wrong};
  }
  return {true, used.size() == 1 ? "the one axis cites a number"
                                 : "each of " + std::to_string(used.size()) + " axes cites a number"};
}

/// What may be told of a risk: all that the worked answer has of its axes, its risks and its thresholds.
std::vector<Figure> risk_values(const DrillSolution& s) {
  std::vector<Figure> values = constraint_values(s);
  for (const AxisFinding& x : s.findings.axes) add_stated(x.figures, values);
  for (const UnusedAxis& x : s.findings.not_used) add_stated(x.figures, values);
  for (const FailureMode& f : s.findings.failure_modes) add_stated(f.figures, values);
  for (const Threshold& t : s.findings.thresholds) {
    for (const double value : {t.current, t.threshold}) values.push_back({t.parameter, value, t.unit, ""});
  }
  return values;
}

Mark grade_failure_mode(const DrillAnswer::Scenario& told, const DrillSolution& solution) {
  if (words(told.failure_mode.statement) < kWordsMin) return {false, "no accepted failure mode is stated"};
  if (words(told.failure_mode.symptom) < kWordsMin)
    return {false, "the failure mode has no symptom to watch for"};
  if (told.failure_mode.symptom == told.failure_mode.statement) {
    return {false, "the symptom repeats the statement: say what would be seen"};
  }
  for (const std::string& text : {told.failure_mode.statement, told.failure_mode.symptom}) {
    if (const auto wrong = wrong_number(text, risk_values(solution), solution)) return {false, *wrong};
  }
  return {true, "stated, with its symptom"};
}

Mark grade_unknowns(const DrillAnswer::Scenario& told) {
  const auto says = [](const std::string& u) { return words(u) >= 1; };
  const auto named = std::count_if(told.unknowns.begin(), told.unknowns.end(), says);
  if (named == 0) return {false, "nothing that the model does not know is named"};
  return {true, std::to_string(named) + " named"};
}

Mark grade_product(const DrillAnswer::Scenario& told, const DrillScenario& scenario,
                   const DrillSolution& solution, const DrillReader& reader) {
  if (!told.no_plan && !told.plan) {
    return {false,
            "no plan is given; its degrees must multiply to " + std::to_string(solution.gpus) + " GPUs"};
  }
  if (!told.no_plan && !solution.plan)
    return {false, "no plan exists: " + solution.findings.binding.statement};
  if (const auto wrong = scenario.wrong(told.no_plan ? std::nullopt : told.plan, reader))
    return {false, *wrong};
  if (told.no_plan) return {true, "no plan exists"};
  return {true, canonical(*told.plan) + " is legal on " + std::to_string(solution.gpus) + " GPUs"};
}

}  // namespace

DrillForm drill_form() {
  DrillForm form;
  form.kinds = {"state",
                "activations",
                "logits",
                "weights",
                "kv_cache",
                "compute",
                "latency",
                "hbm_bandwidth",
                "link:node",
                "link:network",
                "bubble",
                "host",
                "none",
                "throughput",
                "memory",
                "critical_batch",
                "prefill_interference"};
  for (const Drill& drill : drills()) {
    DrillForm::Ids ids{drill.number, {}};
    for (const DrillScenario& scenario : drill.scenarios) ids.scenarios.emplace_back(scenario.id);
    form.drills.push_back(ids);
  }
  return form;
}

DrillGrade grade_drill(const Drill& drill, const DrillAnswer& answer, const DrillReader& reader) {
  DrillGrade grade;
  grade.drill = drill.number;
  for (const DrillScenario& scenario : drill.scenarios) {
    const std::string id = scenario.id;
    const auto same = [&](const DrillAnswer::Scenario& s) { return s.id == id; };
    const auto told = std::find_if(answer.scenarios.begin(), answer.scenarios.end(), same);
    const auto add = [&](const char* rubric, const Mark& v) {
      grade.lines.push_back({id, rubric, v.passed, v.reason});
    };
    if (told == answer.scenarios.end()) {
      for (const char* rubric : {"constraint", "axes", "failure_mode", "unknowns", "product"}) {
        add(rubric, {false, "the scenario is not answered"});
      }
      continue;
    }
    const DrillSolution solution = solve_scenario(scenario, reader);
    add("constraint", grade_constraint(*told, solution));
    add("axes", grade_axes(*told, solution));
    add("failure_mode", grade_failure_mode(*told, solution));
    add("unknowns", grade_unknowns(*told));
    add("product", grade_product(*told, scenario, solution, reader));
  }
  grade.passed =
      std::all_of(grade.lines.begin(), grade.lines.end(), [](const DrillLine& l) { return l.passed; });
  return grade;
}

}  // namespace shardplan
