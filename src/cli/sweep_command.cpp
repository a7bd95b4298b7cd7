// shardplan sweep: the best plan of every question of a grid, a row for each.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/in_order.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/source_digest.h"
#include "cli/sweep_output.h"

namespace shardplan::cli {
namespace {

constexpr std::int64_t kThreadsMax = 1024;
constexpr int kStatusOfSignal = 128;  // and the signal's number, as a shell has it

struct Typed {
  std::string grid;
  std::optional<std::string> out, format;
  std::optional<std::int64_t> threads;
  bool overwrite = false, progress = false;
};

std::atomic<int> stop_signal = 0;
extern "C" void note_signal(int signal) { stop_signal = signal; }

/// Of the first SIGINT or SIGTERM notice is taken; the second ends the program as it would without this.
void stop_on_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {
    }, action{};
    action.sa_handler = note_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

Result<RowFormat> row_format(const Typed& typed, bool json) {
  RowFormat format = RowFormat::kJsonLines;
  if (typed.format) {
    if (*typed.format != "jsonl" && *typed.format != "csv")
      return unknown_name("format", *typed.format, "--format", {"jsonl", "csv"}, "jsonl or csv");
    if (*typed.format == "csv") format = RowFormat::kCsv;
  } else if (typed.out) {
    const auto error = format_error(*typed.out, "--out", {".jsonl", ".csv"},
                                    "a file that ends in .jsonl or .csv, or --format");
    if (error) return *error;
    if (extension(*typed.out) == ".csv") format = RowFormat::kCsv;
  }
  if (json && !typed.out && format == RowFormat::kCsv)
    return Error{"conflict", "the rows on standard output are CSV", "--json", "--out, or --format jsonl", ""};
  return format;
}

Result<std::size_t> thread_count(const Typed& typed) {
  if (!typed.threads) return std::max<std::size_t>(1, std::thread::hardware_concurrency());
  if (*typed.threads >= 1 && *typed.threads <= kThreadsMax) return static_cast<std::size_t>(*typed.threads);
  return Error{"out_of_range", std::to_string(*typed.threads) + " threads", "--threads",
               "a number between 1 and " + std::to_string(kThreadsMax), ""};
}

/// One row as it is written, and what is counted of it.
struct Line {
  std::string text;
  RowFate fate = RowFate::kError;
  std::optional<Error> error;
};

Line line_of(const SweepGrid& grid, const SweepLines& lines, std::int64_t index) {
  const SweepItem item = sweep_item(grid, index);
  const SweepRow row = sweep_row(item_question(item, catalog()), catalog().evidence);
  return {lines.row(index, item, row), fate_of(row), row.error};
}

/// False when the rows could not be written.
bool work(const SweepGrid& grid, const SweepLines& lines, std::size_t threads, const SweepOutput& rows,
          Progress& progress, SweepSummary& summary) {
  bool written = true;
  progress.show(summary);
  in_order<Line>(
      summary.kept, grid.size, threads, [&](std::int64_t index) { return line_of(grid, lines, index); },
      [&](std::int64_t index, const Line& line) {
        written = rows.append(line.text);
        if (!written) return false;
        summary.count(line.fate);
        if (line.error && !summary.first_error) summary.first_error = {index, *line.error};
        progress.show(summary);
        return true;
      },
      [] { return stop_signal != 0; });
  progress.clear();
  return written;
}

int conclude(const SweepSummary& summary, const Output& output) {
  int status = summary.yes() ? kYes : kNo;
  if (summary.out.empty()) {
    std::fputs(("shardplan: " + sweep_text(summary)).c_str(), stderr);
  } else {
    status = output.answer(sweep_text(summary), sweep_json(summary), summary.yes());
  }
  return status != kWrong && summary.done() < summary.items ? kStatusOfSignal + stop_signal : status;
}

int run(const Typed& typed, const Output& output) {
  const Result<RowFormat> format = row_format(typed, output.json());
  if (!format) return output.error(format.error());
  const Result<std::size_t> threads = thread_count(typed);
  if (!threads) return output.error(threads.error());
  const Result<std::string> text = read_text_file(typed.grid);
  if (!text) return output.error(text.error());
  const Result<SweepGrid> grid = read_sweep_grid(*text, typed.grid);
  if (!grid) return output.error(grid.error());
  // A version is built many times while it is in work: rows by other sources are not gone on from.
  const std::string program = std::string(SHARDPLAN_VERSION " ") + kSourceDigest;
  const SweepLines lines{*format, sweep_digest(*grid, catalog(), program), grid->keys};
  SweepSummary summary;
  summary.items = grid->size;
  summary.out = typed.out.value_or("");
  SweepOutput rows(lines, *grid);
  if (typed.out) {
    if (const auto error = rows.open(typed.overwrite, summary)) return output.error(*error);
  }
  stop_on_signals();
  // A bar among rows on the same screen would be in their way.
  const bool screen = isatty(STDERR_FILENO) == 1 && (typed.out || isatty(STDOUT_FILENO) != 1);
  Progress progress(screen || typed.progress);
  if (!rows.begin() || !work(*grid, lines, *threads, rows, progress, summary)) {
    const std::string where = typed.out ? "\"" + *typed.out + "\"" : "standard output";
    return output.error(
        {"unwritable", where + " could not be written", typed.out ? "--out" : "", "room for the rows", ""});
  }
  return conclude(summary, output);
}

}  // namespace

void add_sweep_command(CLI::App& app, Program& program) {
  const auto typed = std::make_shared<Typed>();
  CLI::App* command =
      app.add_subcommand("sweep", "the best plan of every question of a grid, a row for each");
  command
      ->add_option("GRID", typed->grid,
                   "a JSON file: flags of plan without dashes, each with a value or a list of them; "
                   "docs/guides/sweep.md")
      ->required();
  command
      ->add_option("--out", typed->out,
                   "write the rows to FILE (.jsonl, .csv); rows that are there are kept, and gone on from")
      ->type_name("");
  command->add_option("--format", typed->format, "jsonl or csv, whatever FILE is called")->type_name("");
  command->add_option("--threads", typed->threads, "items at a time; all cores when not told")->type_name("");
  command->add_flag("--overwrite", typed->overwrite, "begin anew, whatever FILE holds");
  command->add_flag("--progress", typed->progress, "a progress bar also where standard error is no terminal");
  add_json_flag(*command, program);
  command->callback([typed, &program] { program.status = run(*typed, program.output); });
}

}  // namespace shardplan::cli
