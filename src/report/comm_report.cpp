#include "report/comm_report.h"

#include "report/layout.h"
#include "report/table.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr const char* kLargest = "<- largest";

const char* words(CommAlgorithm algorithm) {
  switch (algorithm) {
    case CommAlgorithm::kNone:
      return "one rank, nothing to send";
    case CommAlgorithm::kRing:
      return "one flat ring";
    case CommAlgorithm::kTierByTier:
      return "tier by tier";
    case CommAlgorithm::kPairwise:
      return "pairwise exchange";
    case CommAlgorithm::kChain:
      return "pipelined chain";
    case CommAlgorithm::kTree:
      return "tree";
    case CommAlgorithm::kNvls:
      return "reduction in the switch (NVLS)";
    case CommAlgorithm::kNvlsTree:
      return "reduction in the switches, joined by a tree (NVLSTree)";
    case CommAlgorithm::kDirect:
      return "direct exchange of all pairs";
    case CommAlgorithm::kPat:
      return "parallel aggregated trees (PAT)";
    case CommAlgorithm::kTorus:
      return "over the axes of the torus, all at once";
    case CommAlgorithm::kOneShot:
      return "one-shot kernel";
    case CommAlgorithm::kTwoShot:
      return "two-shot kernel";
    case CommAlgorithm::kMultimem:
      return "kernel through multicast memory (multimem)";
  }
  return "?";
}

/// Which links must have the bandwidth that a way requires.
std::string where_words(const CommAnswer& a, const CommWay<>& way) {
  const bool several_links = a.cost.ways.size() > 1 && way.algorithm != CommAlgorithm::kTierByTier;
  return several_links ? " on every link it crosses" : " on the " + way.parts.back().tier;
}

std::string required_words(const CommAnswer& a) {
  const CommWay<>& best = a.cost.best();
  if (best.parts.empty()) return "";
  const CommPart<>& outermost = best.parts.back();
  if (!best.required) {
    return "; no bandwidth of the " + outermost.tier + " hides it: the rest alone takes " + format(best.rest);
  }
  const std::string where = a.cost.ways.size() > 1 ? where_words(a, best) : "";
  return (*a.exposed ? "; needs " : "; ") + format(rounded_up(*best.required)) + where +
         (*a.exposed ? ", there are " : " would do, there are ") + format(outermost.link.bandwidth);
}

std::string headline(const CommAnswer& a) {
  const CommWay<>& best = a.cost.best();
  if (!a.exposed) {
    return format(best.time()) + ": " + format(best.cost.latency_term) + " latency + " +
           format(best.cost.bandwidth_term) + " bandwidth; " + format_percent(a.latency_share.raw()) +
           " is latency\n";
  }
  const std::string window = format(*a.cost.window);
  if (*a.exposed) {
    return "exposed: " + format(best.time()) + " does not fit under " + window + "; " +
           format(*best.exposed) + " are felt" + required_words(a) + "\n";
  }
  return "hidden: " + format(best.time()) + " fits under " + window + " with " + format(*best.slack) +
         " to spare" + required_words(a) + "\n";
}

/// "a ring of 4 and a line of 2, 4 chips apart (4 groups share its links)".
std::string layout_words(const TorusLayout& layout) {
  std::string text;
  for (const TorusAxis& axis : layout) {
    if (axis.ranks <= 1) continue;
    text += (text.empty() ? "" : " x ") + std::string(axis.ring ? "ring of " : "line of ") +
            std::to_string(axis.ranks);
    if (axis.step > 1) text += ", " + std::to_string(axis.step) + " groups on its links";
  }
  return text;
}

/// The shape of a slice, and what of it the group lies on.
void add_torus_row(const CommAnswer& a, Table& table) {
  const auto& torus = a.question.cluster.torus;
  if (!torus) return;
  std::string text = shape_text(*torus) + " chips, " + std::to_string(2 * torus->axes) + " links each";
  const auto& parts = a.cost.best().parts;
  if (!parts.empty() && parts.front().layout) {
    text += "; the ranks lie on " + layout_words(*parts.front().layout) + ": " +
            format(parts.front().link.bandwidth) + " into a chip";
  }
  table.row({"torus", text + "  [" + label(a.question.cluster.device.scale_up.torus->source) + "]"});
}

/// Who shares the network cards of a node, and what is left for each.
void add_cards_row(const CommAnswer& a, Table& table) {
  if (!a.question.cards) return;
  const CardSharing& c = *a.question.cards;
  const std::string& unit = a.question.cluster.tiers[c.network - 1].name;
  table.row({"cards", counted(c.cards, "card") + " in a " + unit + " of " + std::to_string(c.gpus) + "; " +
                          counted(c.groups, "group") + " at once, " + counted(c.ranks, "rank") +
                          " of each in it: " + counted(c.sharers(), "rank") + " to a card, " +
                          format(*a.cost.card_share) + " each  [" + label(c.source) + "]"});
}

std::string question_lines(const CommAnswer& a) {
  const CommQuestion& q = a.question;
  Table table("ll");
  const Bytes<> size = a.cost.size;
  table.row({name(q.collective), format(size) + " (" + format_count(size.raw()) + " bytes) over " +
                                     counted(q.ranks.value.raw(), "rank")});
  for (const Tier& tier : q.cluster.tiers) {
    std::string text =
        format(tier.bandwidth.value) + " per GPU and direction, " + format(tier.latency.value) + " a step";
    if (tier.size > 0 && q.cluster.tiers.size() > 1) text += ", joins " + std::to_string(tier.size) + " GPUs";
    if (tier.oversubscription.value > ratio(1)) {
      text += ", oversubscribed " + format(tier.oversubscription.value) + " to 1";
    }
    table.row({tier.name, text + "  [" + label(tier.bandwidth.source) + "]"});
  }
  add_torus_row(a, table);
  add_cards_row(a, table);
  if (q.step) {
    table.row(
        {"window", format(*a.cost.window) + ", the backward pass of a " + format(q.step->value) + " step"});
  }
  return table.text();
}

std::string share_of(Seconds<> part, Seconds<> whole) {
  return whole > seconds(0) ? format_percent((part / whole).raw()) : "";
}

/// The two terms of each tier, their sum, and what of it is felt.
std::string way_lines(const CommAnswer& a, const CommWay<>& way) {
  Table table;
  Seconds<> largest;
  for (const CommPart<>& p : way.parts)
    largest = max(largest, max(p.cost.latency_term, p.cost.bandwidth_term));
  const auto term = [&](const std::string& label_text, Seconds<> t, const std::string& note) {
    table.row(
        {label_text, format(t), share_of(t, way.time()), t == largest ? std::string(kLargest) : "", note});
  };
  const bool several = way.parts.size() > 1;
  for (const CommPart<>& p : way.parts) {
    const std::string where = several ? p.tier + ", " : "";
    const std::string carries = several ? std::to_string(p.ranks) + " ranks, " + format(p.size) : "";
    term(where + "bandwidth term", p.cost.bandwidth_term, carries);
    term(where + "latency term", p.cost.latency_term, "");
  }
  table.row({"time", format(way.time())});
  if (way.exposed) table.row({"felt", format(*way.exposed)});
  if (way.required) {
    std::string needs = format(rounded_up(*way.required)) + where_words(a, way);
    if (way.required_without_latency) {
      needs += ", " + format(rounded_up(*way.required_without_latency)) + " if latency were nothing";
    }
    return table.text("  ", true) + "  hides from " + needs + "\n";
  }
  if (a.cost.window && !way.parts.empty()) {
    return table.text("  ", true) + "  no bandwidth of the " + way.parts.back().tier +
           " hides it: the rest alone takes " + format(way.rest) + "\n";
  }
  return table.text("  ", true);
}

std::string protocol_text(const std::optional<Protocol>& protocol) { return protocol ? name(*protocol) : ""; }

std::string short_words(CommAlgorithm algorithm, const std::optional<Protocol>& protocol) {
  return std::string(name(algorithm)) + (protocol ? std::string(", ") + name(*protocol) : "");
}

/// Where another way takes over, one line each.
std::string switches_text(const std::vector<CommSwitch>& switches) {
  Table table("ll");
  for (const CommSwitch& s : switches)
    table.row({"from " + format(s.from), short_words(s.algorithm, s.protocol)});
  return "picked by size\n" + table.text();
}

/// The library's choice in full, then those that lost, and by how much.
std::string library_text(const CommAnswer& a) {
  const CommWay<>& best = a.cost.best();
  std::string text = "\n" + std::string(words(best.algorithm));
  if (best.protocol) text += std::string(", ") + name(*best.protocol);
  text += "  <- picked by " + a.question.cluster.collectives->library.name + "\n" + way_lines(a, best) + "\n";
  Table table("ll");
  table.row({"algorithm", "protocol", "time", "latency", "bandwidth", "times as long"});
  for (const CommWay<>& way : a.cost.ways) {
    table.row({name(way.algorithm), protocol_text(way.protocol), format(way.time()),
               format(way.cost.latency_term), format(way.cost.bandwidth_term),
               format_number((way.time() / best.time()).raw())});
  }
  return text + table.text() + "\n" + switches_text(a.switches);
}

std::string ways_text(const CommAnswer& a) {
  if (a.question.cluster.collectives && !a.cost.best().parts.empty()) return library_text(a);
  std::string text;
  const bool several = a.cost.ways.size() > 1;
  for (std::size_t i = 0; i < a.cost.ways.size(); ++i) {
    const CommWay<>& way = a.cost.ways[i];
    text += "\n" + std::string(words(way.algorithm));
    if (several && i == a.cost.best_way) text += "  <- fastest";
    text += "\n" + way_lines(a, way);
  }
  if (several && a.cost.best_way != 0) {
    text += "\n" + std::string(words(a.cost.ways.front().algorithm)) + " takes " + format(a.saved) +
            " more, " + format(a.flat_over_best) + " times as long\n";
  } else if (several) {
    text += "\n" + std::string(words(a.cost.best().algorithm)) +
            " is the fastest: " + words(a.cost.ways.back().algorithm) + " takes " +
            format(a.cost.ways.back().time()) + "\n";
  }
  return text;
}

Json optional_value(bool there, double value) { return there ? Json(value) : Json(nullptr); }

template <class Q>
Json optional_json(const std::optional<Q>& q) {
  return optional_value(q.has_value(), q ? q->raw() : 0);
}

Json protocol_json(const std::optional<Protocol>& protocol) {
  return protocol ? Json(name(*protocol)) : Json(nullptr);
}

Json switches_json(const std::vector<CommSwitch>& switches) {
  Json list = Json::array();
  for (const CommSwitch& s : switches) {
    list.push_back({{"from_bytes", s.from.raw()},
                    {"algorithm", name(s.algorithm)},
                    {"protocol", protocol_json(s.protocol)}});
  }
  return list;
}

/// The links as they were told or found, innermost first.
Json links_json(const Cluster& cluster) {
  Json links = Json::array();
  for (const Tier& tier : cluster.tiers) {
    links.push_back({{"tier", tier.name},
                     {"joined_gpus", tier.size},
                     {"bandwidth_bytes_per_s", tier.bandwidth.value.raw()},
                     {"bandwidth_source", source_json(tier.bandwidth.source)},
                     {"latency_s", tier.latency.value.raw()},
                     {"latency_source", source_json(tier.latency.source)},
                     {"oversubscription", tier.oversubscription.value.raw()}});
  }
  return links;
}

Json way_json(const CommWay<>& way) {
  Json parts = Json::array();
  for (const CommPart<>& p : way.parts) {
    parts.push_back({{"tier", p.tier},
                     {"ranks", p.ranks},
                     {"size_bytes", p.size.raw()},
                     {"bandwidth_bytes_per_s", p.link.bandwidth.raw()},
                     {"latency_s", p.link.latency.raw()},
                     {"time_s", p.cost.total().raw()},
                     {"latency_term_s", p.cost.latency_term.raw()},
                     {"bandwidth_term_s", p.cost.bandwidth_term.raw()}});
  }
  return {{"algorithm", name(way.algorithm)},
          {"protocol", protocol_json(way.protocol)},
          {"time_s", way.time().raw()},
          {"latency_term_s", way.cost.latency_term.raw()},
          {"bandwidth_term_s", way.cost.bandwidth_term.raw()},
          {"exposed_s", optional_json(way.exposed)},
          {"required_bandwidth_bytes_per_s", optional_json(way.required)},
          {"required_bandwidth_without_latency_bytes_per_s", optional_json(way.required_without_latency)},
          {"tiers", parts}};
}

Json torus_json(const CommAnswer& a) {
  const Torus& torus = *a.question.cluster.torus;
  Json json{{"shape", shape_text(torus)}, {"links_of_a_chip", 2 * torus.axes}, {"group", Json::array()}};
  const auto& parts = a.cost.best().parts;
  if (parts.empty() || !parts.front().layout) return json;
  for (const TorusAxis& axis : *parts.front().layout) {
    if (axis.ranks <= 1) continue;
    json["group"].push_back(
        {{"ranks", axis.ranks}, {"kind", axis.ring ? "ring" : "line"}, {"groups_on_its_links", axis.step}});
  }
  return json;
}

Json cards_json(const CommAnswer& a) {
  const CardSharing& c = *a.question.cards;
  return {{"gpus_per_node", c.gpus},
          {"cards_per_node", c.cards},
          {"groups", c.groups},
          {"ranks_of_a_group_per_node", c.ranks},
          {"ranks_per_card", c.sharers()},
          {"bandwidth_of_a_rank_bytes_per_s", a.cost.card_share->raw()}};
}

}  // namespace

std::string comm_text(const CommAnswer& a) {
  std::string text = headline(a) + "\n" + question_lines(a) + ways_text(a) + "\nassumed\n";
  for (const std::string& line : a.question.assumed) text += wrap(line, "  ", "    ");
  return text;
}

Json comm_json(const CommAnswer& a) {
  const CommWay<>& best = a.cost.best();
  const Tier& outermost = a.question.cluster.tiers.back();
  const bool linked = !best.parts.empty();
  Json verdict = nullptr;
  if (a.exposed) verdict = *a.exposed ? "exposed" : "hidden";
  Json json{{"schema_version", kSchemaVersion},
            {"collective", name(a.question.collective)},
            {"ranks", static_cast<std::int64_t>(a.question.ranks.value.raw())},
            {"size_bytes", a.cost.size.raw()},
            {"bandwidth_bytes_per_s",
             linked ? best.parts.back().link.bandwidth.raw() : outermost.bandwidth.value.raw()},
            {"latency_s", linked ? best.parts.back().link.latency.raw() : outermost.latency.value.raw()},
            {"algorithm", name(best.algorithm)},
            {"protocol", protocol_json(best.protocol)},
            {"time_s", best.time().raw()},
            {"latency_term_s", best.cost.latency_term.raw()},
            {"bandwidth_term_s", best.cost.bandwidth_term.raw()},
            {"latency_share", a.latency_share.raw()},
            {"window_s", optional_json(a.cost.window)},
            {"exposed_s", optional_json(best.exposed)},
            {"verdict", verdict},
            {"required_bandwidth_bytes_per_s", optional_json(best.required)},
            {"required_bandwidth_without_latency_bytes_per_s", optional_json(best.required_without_latency)},
            {"flat_over_best", a.flat_over_best.raw()},
            {"saved_s", a.saved.raw()}};
  json["links"] = links_json(a.question.cluster);
  json["ways"] = Json::array();
  for (const CommWay<>& way : a.cost.ways) json["ways"].push_back(way_json(way));
  if (a.question.cluster.collectives) {
    json["launcher"] = name(a.question.launcher);
    json["switch_points"] = switches_json(a.switches);
  }
  if (a.question.cluster.torus) json["torus"] = torus_json(a);
  if (a.question.cards) json["network_cards"] = cards_json(a);
  json["assumed"] = a.question.assumed;
  return json;
}

TraceRoots comm_roots(const CommCost<Traced>& cost) {
  TraceRoots roots;
  for (const CommWay<Traced>& way : cost.ways) {
    std::string suffix = cost.ways.size() > 1 ? std::string(", ") + words(way.algorithm) : "";
    if (way.protocol) suffix += std::string(", ") + name(*way.protocol);
    if (way.parts.empty()) continue;
    roots.emplace_back("time" + suffix, way.time().raw().shared());
    if (way.exposed) roots.emplace_back("felt" + suffix, way.exposed->raw().shared());
    if (way.required) roots.emplace_back("bandwidth to hide" + suffix, way.required->raw().shared());
  }
  if (cost.card_share) roots.emplace_back("bandwidth of a rank on its card", cost.card_share->raw().shared());
  return roots;
}

}  // namespace shardplan
