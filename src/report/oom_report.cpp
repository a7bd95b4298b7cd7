#include "report/oom_report.h"

#include "report/remedy_report.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

std::string headline(const OutOfMemory& m) {
  if (m.fragmentation()) {
    const std::string free = m.free ? " and " + format(*m.free) + " are free" : "";
    return "fragmentation: " + format(m.requested) + " were asked for; " + format(*m.unallocated) +
           " are reserved but unallocated" + free + ", though not in one piece\n";
  }
  if (m.limited()) {
    return "limited: " + format(m.requested) + " were asked for and " + format(*m.free) +
           " were free: not the device refused, but a limit on the process or what another took meanwhile\n";
  }
  if (const auto shortage = m.shortage()) {
    return "short of memory: " + format(m.requested) + " were asked for, " + format(*m.free) +
           " were free, " + format(*shortage) + " too little\n";
  }
  return "short of memory: " + format(m.requested) +
         " were asked for; the message does not say what was free\n";
}

std::string message_lines(const OutOfMemory& m) {
  Table table;
  const auto row = [&](const char* what, const std::optional<Bytes<>>& size, const char* note) {
    if (size) table.row({what, format(*size), note});
  };
  row("requested", m.requested, "");
  row("free", m.free, "");
  row("allocated", m.allocated, "by tensors");
  row("unallocated", m.unallocated, "reserved by PyTorch, held by no tensor");
  row("outside", m.outside(), "contexts, communicators and other processes");
  row("capacity", m.capacity, "");
  return "what the message says\n" + table.text("  ", true);
}

std::string stage_words(const std::vector<int>& stages) {
  std::string words = stages.size() == 1 ? "stage " : "stages ";
  for (std::size_t i = 0; i < stages.size(); ++i) words += (i > 0 ? ", " : "") + std::to_string(stages[i]);
  return words;
}

std::string tensor_rows(const std::vector<TensorMatch>& matches, int stages) {
  Table table("lrl");
  for (const TensorMatch& m : matches) {
    const Tensor& t = m.tensor;
    const std::string count = t.alive == 0 ? "comes and goes" : format_number(t.alive) + " at the peak";
    table.row({t.name, format(t.bytes), stages > 1 ? count + ", " + stage_words(m.stages) : count});
  }
  return table.text();
}

std::string match_lines(const OomAnswer& a) {
  const OomRun& run = *a.run;
  std::string shared;
  if (const auto most = shared_by_tensors_up_to(a.message.requested))
    shared = "a block of " + format(a.message.requested) + " is asked for by any tensor of up to " +
             format(*most) + "\n";
  if (!run.matches.empty()) {
    return shared + std::string(run.matches.size() == 1 ? "the tensor" : "the tensors") +
           " of the account with that size\n" + tensor_rows(run.matches, run.plan.pp);
  }
  return shared + "no tensor of the account has this size; nearest\n" + tensor_rows(run.nearest, run.plan.pp);
}

/// The account beside what the message counted.
std::string predicted_lines(const OomAnswer& a) {
  const MemoryAccount& memory = a.run->memory;
  const OutOfMemory& m = a.message;
  Table table("lrl");
  table.row({"predicted", format(memory.worst().total()),
             a.run->plan.pp > 1 ? "at the peak of stage " + std::to_string(memory.fullest) : "at the peak"});
  if (m.allocated) {
    table.row({"message", format(*m.allocated + m.requested), "allocated and asked for"});
  }
  if (m.capacity && m.outside()) {
    table.row(
        {"at most", format(*m.capacity - *m.outside()), "of the device, what is not PyTorch's taken off"});
  }
  if (a.run->beyond > bytes(0)) {
    table.row({"beyond", format(a.run->beyond), "by the account: what makes room has to free that too"});
  }
  return "plan " + canonical(a.run->plan) + "\n" + table.text();
}

std::optional<Bytes<>> joined(const OutOfMemory& m) {
  return m.enough_in_pieces() ? m.unallocated : std::nullopt;
}

std::string remedy_part(const OomAnswer& a) {
  const std::vector<Remedy> none;
  const std::vector<Remedy>& found = a.run ? a.run->remedies : none;
  if (found.empty() && !joined(a.message))
    return a.run ? "no change of one or two settings of the plan frees that much\n" : "";
  return "what would make room, by step time\n" + remedy_lines(found, joined(a.message));
}

Json optional_bytes(const std::optional<Bytes<>>& size) { return size ? Json(size->raw()) : Json(nullptr); }

Json matches_json(const std::vector<TensorMatch>& matches) {
  Json list = Json::array();
  for (const TensorMatch& m : matches) {
    Json json{{"name", m.tensor.name}, {"stage", m.stages.front()}, {"stages", m.stages}};
    json.update(tensor_json(m.tensor));
    list.push_back(json);
  }
  return list;
}

}  // namespace

std::string oom_text(const OomAnswer& a, const std::vector<std::string>& assumed) {
  std::string text = headline(a.message) + "\n" + message_lines(a.message);
  if (a.run) text += "\n" + match_lines(a) + "\n" + predicted_lines(a);
  if (const std::string remedy = remedy_part(a); !remedy.empty()) text += "\n" + remedy;
  if (!assumed.empty()) {
    text += "\nassumed\n";
    for (const std::string& line : assumed) text += "  " + line + "\n";
  }
  return text;
}

Json oom_json(const OomAnswer& a, const std::vector<std::string>& assumed) {
  const OutOfMemory& m = a.message;
  Json json{{"schema_version", kSchemaVersion},
            {"requested_bytes", m.requested.raw()},
            {"capacity_bytes", optional_bytes(m.capacity)},
            {"free_bytes", optional_bytes(m.free)},
            {"allocated_bytes", optional_bytes(m.allocated)},
            {"unallocated_bytes", optional_bytes(m.unallocated)},
            {"outside_bytes", optional_bytes(m.outside())},
            {"fragmentation", m.fragmentation()},
            {"shortage_bytes", optional_bytes(m.shortage())},
            {"matches", Json::array()},
            {"nearest", Json::array()},
            {"remedies", remedies_json(a.run ? a.run->remedies : std::vector<Remedy>{}, joined(m))}};
  if (a.run) {
    json["plan"] = plan_json(a.run->plan);
    json["predicted_bytes"] = a.run->memory.worst().total().raw();
    json["beyond_bytes"] = a.run->beyond.raw();
    json["matches"] = matches_json(a.run->matches);
    json["nearest"] = matches_json(a.run->nearest);
  }
  json["assumed"] = assumed;
  return json;
}

}  // namespace shardplan
