#include "import/nccl_log.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <sstream>

#include "units/format.h"

namespace shardplan {
namespace {

using Words = std::vector<std::string>;

constexpr std::array<const char*, 6> kTests{"all_reduce", "all_gather", "reduce_scatter",
                                            "alltoall",   "sendrecv",   "broadcast"};

Words words_of(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has(const Words& words, const char* word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// "# size count type redop root time algbw busbw ...", the line above the units.
bool is_heading(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string::npos || line[hash] != '#') return false;
  const Words words = words_of(line.substr(hash + 1));
  return has(words, "size") && has(words, "time") && has(words, "busbw");
}

/// What the lines before the table say of the run.
struct Run {
  std::size_t ranks = 0;
  std::set<std::string> hosts;
  std::string device;
  std::string test;
  std::size_t time_column = 0, wrong_column = 0;  // of the results out of place; 0 = no such column
};

/// "#  Rank  0 Group  0 Pid  7 on  node-1 device  0 [0x07] NVIDIA H100 80GB HBM3"
void take_rank(const std::string& line, Run& run) {
  const Words words = words_of(line);
  const auto on = std::find(words.begin(), words.end(), "on");
  if (!has(words, "Rank") || on == words.end() || on + 1 == words.end()) return;
  ++run.ranks;
  run.hosts.insert(*(on + 1));
  const std::size_t bracket = line.find(']');
  if (run.device.empty() && bracket != std::string::npos) {
    for (const std::string& word : words_of(line.substr(bracket + 1))) {
      run.device += (run.device.empty() ? "" : " ") + word;
    }
  }
}

Run read_run(const std::vector<std::string>& lines) {
  Run run;
  for (const std::string& line : lines) {
    for (const char* test : kTests) {
      if (run.test.empty() && line.find(std::string(test) + "_perf") != std::string::npos) run.test = test;
    }
    take_rank(line, run);
    if (!is_heading(line)) continue;
    const Words words = words_of(line.substr(line.find('#') + 1));
    const auto column = [&](const char* name) {
      const auto at = std::find(words.begin(), words.end(), name);
      return at == words.end() ? 0 : static_cast<std::size_t>(at - words.begin());
    };
    run.time_column = column("time");
    run.wrong_column = column("#wrong");
  }
  return run;
}

/// A line of the table: a size and a count, then as many words as the heading has up to the time.
bool is_point(const Words& words, std::size_t time_column) {
  return words.size() > std::max<std::size_t>(time_column, 1) && parse_number(words[0]) &&
         parse_number(words[1]);
}

/// Two runs in one text would be read as one of all their ranks.
std::optional<Error> second_run(const std::vector<std::string>& lines, const std::string& document) {
  bool seen = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!is_heading(lines[i])) continue;
    if (seen) {
      return Error{"conflict", "a second run begins", document + ":" + std::to_string(i + 1),
                   "one run of nccl-tests in a file", ""};
    }
    seen = true;
  }
  return std::nullopt;
}

Error missing(const std::string& document, const std::string& what, const std::string& expected) {
  return {"missing_field", "a log of nccl-tests without " + what, document, expected, ""};
}

}  // namespace

bool is_nccl_log(std::string_view text) {
  const std::vector<std::string> lines = lines_of(text);
  return std::any_of(lines.begin(), lines.end(), is_heading);
}

Result<CsvTable> read_nccl_log(std::string_view text, const std::string& document,
                               const NcclLogNotes& notes) {
  const std::vector<std::string> lines = lines_of(text);
  if (const auto error = second_run(lines, document)) return *error;
  Run run = read_run(lines);
  if (run.ranks == 0) {
    return missing(document, "its ranks", "lines \"# Rank 0 ... on HOST device 0 [0x07] NVIDIA H100\"");
  }
  if (!run.test.empty() && !notes.collective.empty()) {
    return Error{"conflict", "the log names its test, " + run.test, "--collective", "no flag", ""};
  }
  if (run.test.empty()) run.test = notes.collective;
  if (run.test.empty()) {
    return missing(document, "the name of its test, as old versions print it",
                   "--collective all-reduce, or \"Collective test starting: all_reduce_perf\" in the log");
  }
  const std::string ranks = std::to_string(run.ranks), nodes = std::to_string(run.hosts.size());
  const std::string per_node = std::to_string((run.ranks + run.hosts.size() - 1) / run.hosts.size());
  const std::vector<std::string> columns{"system", "source",   "hardware",   "nodes", "gpus_per_node",
                                         "ranks",  "network",  "collective", "bytes", "time_us",
                                         "lib",    "launcher", "wrong"};
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : lines) {
    const Words words = words_of(line);
    if (!is_point(words, run.time_column)) continue;
    const bool checked = run.wrong_column > 0 && run.wrong_column < words.size();
    rows.push_back({document, document, run.device, nodes, per_node, ranks, notes.network, run.test, words[0],
                    words[run.time_column], "nccl", "nccl-tests", checked ? words[run.wrong_column] : ""});
  }
  if (rows.empty()) return missing(document, "a line of times", "size, count, type, redop, root, time, ...");
  return CsvTable(columns, std::move(rows));
}

}  // namespace shardplan
