#include "import/drill_answer.h"

#include <stdexcept>

namespace {
/// toml++'s parser asserts on some malformed keys ("[.]") instead of reporting them: such a text is bad
/// input, not a broken invariant of ours.
[[gnu::noinline]] void refuse_toml(const char* broken) { throw std::logic_error(broken); }
}  // namespace

// toml++ reads these from its includer.
#define TOML_ASSERT(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : refuse_toml(#expression))
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "import/json_node.h"
#include "import/json_text.h"
#include "import/limits.h"

namespace shardplan {
namespace {

constexpr int kDepthMax = 16;
constexpr std::size_t kScenariosMax = 64, kListMax = 256, kTextMax = 4096;
constexpr std::int64_t kDrillMax = 1000, kStageMax = 3;

/// Line of every value by its path, spelt as JsonNode spells it.
using Lines = std::map<std::string, std::int64_t>;

std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

/// TOML as JSON: the same reader takes both. Dates have no place in an answer and become their kind's name.
nlohmann::json to_json(const toml::node& node, const std::string& path, int depth, Lines& lines) {
  lines[path] = static_cast<std::int64_t>(node.source().begin.line);
  if (depth > kDepthMax) return nullptr;
  if (const auto* table = node.as_table()) {
    nlohmann::json json = nlohmann::json::object();
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      json[name] = to_json(value, below(path, name), depth + 1, lines);
    }
    return json;
  }
  if (const auto* array = node.as_array()) {
    nlohmann::json json = nlohmann::json::array();
    for (const toml::node& value : *array) {
      json.push_back(to_json(value, path + "[" + std::to_string(json.size()) + "]", depth + 1, lines));
    }
    return json;
  }
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  return nullptr;
}

/// Fit for one line of an error: no control characters, no half of a UTF-8 character.
std::string one_line(std::string_view text) {
  constexpr std::size_t kShown = 200;
  std::size_t end = std::min(text.size(), kShown);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  std::string line(text.substr(0, end));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 32 || c == 127; }, ' ');
  return line;
}

std::string limited(const JsonNode& node) {
  std::string text = node.text();
  if (text.size() > kTextMax) {
    node.fail("out_of_range", "a text of " + std::to_string(text.size()) + " bytes",
              "at most " + std::to_string(kTextMax));
  }
  return text;
}

void read_constraint(const JsonNode& node, const std::vector<std::string>& kinds,
                     DrillAnswer::Constraint& constraint) {
  node.allow_only({"kind", "statement"});
  if (const JsonNode kind = node.find("kind")) {
    constraint.kind = limited(kind);
    const bool known = constraint.kind.empty() ||
                       std::find(kinds.begin(), kinds.end(), constraint.kind) != kinds.end() ||
                       constraint.kind.starts_with("link:");
    if (!known) {
      kind.fail("unknown_name", "\"" + one_line(constraint.kind) + "\" is not a kind of constraint",
                "a kind of docs/reference/drill-answers.md", nearest_name(constraint.kind, kinds));
    }
  }
  if (const JsonNode statement = node.find("statement")) constraint.statement = limited(statement);
}

Plan read_plan(const JsonNode& node) {
  // The last three are in every plan object that the program prints; they follow from the others.
  node.allow_only({"dp", "tp", "pp", "cp", "ep", "etp", "zero", "zero_stage", "micro_batch", "interleave",
                   "recompute", "sequence_parallel", "grad_accumulation", "schedule", "canonical"});
  Plan plan;
  const auto degree = [&](const char* key, std::int32_t& into) {
    if (const JsonNode n = node.find(key)) into = static_cast<std::int32_t>(n.integer(1, kGpusMax));
  };
  degree("dp", plan.dp);
  degree("tp", plan.tp);
  degree("pp", plan.pp);
  degree("cp", plan.cp);
  degree("ep", plan.ep);
  degree("etp", plan.etp);
  degree("micro_batch", plan.micro_batch);
  degree("interleave", plan.interleave);
  if (plan.interleave > 1) plan.schedule = Schedule::kInterleaved;
  if (const JsonNode zero = node.find(node.find("zero_stage") ? "zero_stage" : "zero"))
    plan.zero_stage = static_cast<std::int8_t>(zero.integer(0, kStageMax));
  plan.sequence_parallel = plan.tp > 1;
  if (const JsonNode sp = node.find("sequence_parallel")) plan.sequence_parallel = sp.boolean();
  if (const JsonNode recompute = node.find("recompute")) {
    const auto named = recompute_named(limited(recompute));
    if (!named) recompute.fail("unknown_name", "no such recomputation", "as --recompute takes it");
    plan.recompute = named.value_or(Recompute::kNone);
  }
  return plan;
}

std::vector<JsonNode> limited_items(const JsonNode& node) {
  std::vector<JsonNode> items = node.items();
  if (items.size() <= kListMax) return items;
  node.fail("out_of_range", std::to_string(items.size()) + " entries", "at most " + std::to_string(kListMax));
  return {};
}

DrillAnswer::Scenario read_scenario(const std::string& id, const JsonNode& node,
                                    const std::vector<std::string>& kinds) {
  DrillAnswer::Scenario s;
  s.id = id;
  node.allow_only({"no_plan", "plan", "constraint", "axes", "failure_mode", "unknowns"});
  if (const JsonNode no_plan = node.find("no_plan")) s.no_plan = no_plan.boolean();
  // An empty table is a plan that was not filled in.
  if (const JsonNode plan = node.find("plan"); plan && !(plan.is_object() && plan.json()->empty())) {
    s.plan = read_plan(plan);
    if (s.no_plan) plan.fail("conflict", "a plan beside no_plan = true", "one of them");
  }
  if (const JsonNode constraint = node.find("constraint")) read_constraint(constraint, kinds, s.constraint);
  if (const JsonNode axes = node.find("axes")) {
    for (const JsonNode& axis : limited_items(axes)) {
      axis.allow_only({"axis", "why"});
      s.axes.push_back({limited(axis.at("axis")), limited(axis.at("why"))});
    }
  }
  if (const JsonNode failure = node.find("failure_mode")) {
    failure.allow_only({"statement", "symptom"});
    if (const JsonNode statement = failure.find("statement")) s.failure_mode.statement = limited(statement);
    if (const JsonNode symptom = failure.find("symptom")) s.failure_mode.symptom = limited(symptom);
  }
  if (const JsonNode unknowns = node.find("unknowns")) {
    for (const JsonNode& unknown : limited_items(unknowns)) s.unknowns.push_back(limited(unknown));
  }
  return s;
}

std::string drill_numbers(const DrillForm& form) {
  std::string numbers;
  for (const DrillForm::Ids& drill : form.drills)
    numbers += (numbers.empty() ? "one of " : ", ") + std::to_string(drill.drill);
  return numbers;
}

DrillAnswer read_fields(const JsonNode& root, const DrillForm& form) {
  DrillAnswer answer;
  root.allow_only({"drill", "scenario"});
  const JsonNode number = root.at("drill");
  answer.drill = static_cast<int>(number.integer(1, kDrillMax));
  const auto drill = std::find_if(form.drills.begin(), form.drills.end(),
                                  [&](const DrillForm::Ids& d) { return d.drill == answer.drill; });
  if (drill == form.drills.end()) {
    number.fail("unknown_name", "no drill " + std::to_string(answer.drill), drill_numbers(form));
    return answer;
  }
  const JsonNode scenarios = root.find("scenario");
  if (!scenarios) return answer;
  const auto members = scenarios.members();
  if (members.size() > kScenariosMax)
    scenarios.fail("out_of_range", "too many scenarios", "those of the drill");
  for (const JsonNode::Member& member : members) {
    const bool known =
        std::find(drill->scenarios.begin(), drill->scenarios.end(), member.key) != drill->scenarios.end();
    if (!known) {
      member.value.fail(
          "unknown_name",
          "drill " + std::to_string(answer.drill) + " has no scenario \"" + one_line(member.key) + "\"",
          "a scenario of shardplan drill show " + std::to_string(answer.drill),
          nearest_name(member.key, drill->scenarios));
    }
    answer.scenarios.push_back(read_scenario(member.key, member.value, form.kinds));
  }
  return answer;
}

/// "answer.toml: scenario.A.plan.dp" to "answer.toml:12: scenario.A.plan.dp": the line of the path or of what
/// holds it.
Error with_line(Error error, const std::string& document, const Lines& lines) {
  const std::string prefix = document + ": ";
  if (!error.where.starts_with(prefix)) return error;
  error.message = one_line(error.message);
  const std::string path = error.where.substr(prefix.size());
  std::string known = path;
  while (!known.empty() && !lines.contains(known)) {
    const std::size_t cut = known.find_last_of(".[");
    known = cut == std::string::npos ? "" : known.substr(0, cut);
  }
  const auto at = lines.find(known);
  const std::string line =
      at == lines.end() ? "" : ":" + std::to_string(std::max<std::int64_t>(at->second, 1));
  error.where = document + line + ": " + one_line(path);
  return error;
}

}  // namespace

Result<DrillAnswer> read_drill_answer(std::string_view text, const std::string& where,
                                      const DrillForm& form) {
  if (text.size() > static_cast<std::size_t>(kDrillAnswerBytesMax)) {
    return Error{"too_large", "an answer of " + std::to_string(text.size()) + " bytes", where,
                 "at most " + std::to_string(kDrillAnswerBytesMax), ""};
  }
  nlohmann::json json;
  Lines lines;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    Result<nlohmann::json> parsed = parse_json(text, where);
    if (!parsed) return parsed.error();
    json = std::move(parsed).value();
  } else {
    toml::parse_result parsed;
    try {
      parsed = toml::parse(text, where);
    } catch (const std::logic_error&) {
      return Error{"bad_toml", "a malformed key or table", where, "TOML or JSON", ""};
    }
    if (!parsed) {
      const toml::parse_error& error = parsed.error();
      return Error{"bad_toml", one_line(error.description()),
                   where + ":" + std::to_string(error.source().begin.line), "TOML", ""};
    }
    json = to_json(parsed.table(), "", 0, lines);
  }
  ReadLog log{where, std::nullopt};
  DrillAnswer answer = read_fields(JsonNode(&json, "", &log), form);
  if (log.error) return with_line(*log.error, where, lines);
  return answer;
}

}  // namespace shardplan
