#include "report/finding_lines.h"

#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string count(std::int64_t n) { return format_count(static_cast<double>(n)); }

std::string bandwidth_of(const std::optional<BytesPerSecond<>>& b) { return b ? format(*b) : "-"; }

}  // namespace

std::string threshold_value(double value, const std::string& unit) {
  if (unit == "bytes") return format(bytes(value));
  if (unit == "bytes/s") return format(bytes_per_s(value));
  if (unit == "s") return format(seconds(value));
  if (unit == "FLOP/s") return format(flops_per_s(value));
  if (unit.empty()) return format_number(value);
  const bool one = value == 1 && unit.ends_with('s');
  return format_number(value) + " " + (one ? unit.substr(0, unit.size() - 1) : unit);
}

std::string nothing_fits_lines(const Answer& a) {
  if (!a.nothing_fits) return "";
  const NothingFits& why = *a.nothing_fits;
  std::string text = "proof: " + why.proof + "\n";
  text += "\nlimits: no plan keeps all of them, without any one of them some plan fits\n";
  for (const Limit& limit : why.limits) text += "  " + limit.statement + "\n";
  text += "\nsmallest changes with which a plan fits, each alone and planned again\n";
  for (const FittingChange& change : why.changes) {
    text += "  " + change.statement + ": " + change.price + "\n";
    text += "    " + canonical(change.plan) + "\n";
  }
  if (why.changes.empty()) text += "  none was found\n";
  return text;
}

std::string finding_lines(const Answer& a) {
  std::string text;
  if (!a.axes.empty()) {
    Table table;
    table.row({"axis", "degree", "tier", "needs", "has", ""});
    for (const AxisFinding& x : a.axes) {
      table.row({x.axis, count(x.degree), x.tier, bandwidth_of(x.required_bandwidth),
                 bandwidth_of(x.available_bandwidth), x.reason});
    }
    text += "\naxes\n" + table.text("  ", true);
  }
  const auto section = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    text += std::string("\n") + title + "\n";
    for (const std::string& line : lines) text += "  " + line + "\n";
  };
  std::vector<std::string> lines;
  for (const UnusedAxis& x : a.not_used) lines.push_back(x.axis + ": " + x.reason);
  section("axes not used", lines);
  lines.clear();
  for (const FailureMode& f : a.failure_modes) {
    lines.push_back(f.statement);
    lines.push_back("  symptom: " + f.symptom + "; watch " + f.metric);
    if (f.level) lines.push_back("  arrived " + f.level->statement);
  }
  section("failure modes accepted", lines);
  lines.clear();
  for (const JudgedBy& j : a.judged_by) lines.push_back(j.statement + ": " + label(j.source));
  section("judged by", lines);
  lines.clear();
  for (const Threshold& t : a.thresholds) {
    lines.push_back(t.parameter + " from " + threshold_value(t.current, t.unit) + " to " +
                    threshold_value(t.threshold, t.unit) + ": " + t.then);
  }
  for (const NotSought& n : a.not_sought) lines.push_back(n.parameter + " is not sought: " + n.reason);
  section("what would change the answer, each alone and the batch as it is", lines);
  section("not looked at to the end, as the search was stopped", a.not_looked_at);
  lines.clear();
  for (const Unknown& u : a.unknowns) {
    const std::string source = u.source.empty() ? "" : "; " + u.source;
    lines.push_back(u.statement + (u.magnitude.empty() ? "" : " (" + u.magnitude + source + ")"));
  }
  section("what the model does not know", lines);
  return text;
}

}  // namespace shardplan
