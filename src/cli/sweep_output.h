// Where the rows of a sweep go: standard output, or a file that already has some of them.
//
//   SweepOutput rows(lines);
//   if (const auto error = rows.open("rows.jsonl", false, summary)) return output.error(*error);
//   rows.append(lines.row(rows.done(), item, row));   // at once, whole; false when it fails
//
// A sweep that was killed leaves whole rows and at most one that is cut short; open() keeps the whole ones,
// counts them in the summary and drops the other. Not here: what a row says (report/sweep_report.h).
#pragma once

#include <shardplan/shardplan.h>

#include <optional>
#include <string>
#include <string_view>

namespace shardplan::cli {

class SweepOutput {
 public:
  SweepOutput(const SweepLines& lines, const SweepGrid& grid) : lines_(lines), grid_(grid) {}
  SweepOutput(const SweepOutput&) = delete;
  SweepOutput& operator=(const SweepOutput&) = delete;
  ~SweepOutput();

  /// The file that `summary` names, in place of standard output. An error where it has rows of another sweep,
  /// unless they are to be overwritten, or where another process is writing it.
  std::optional<Error> open(bool overwrite, SweepSummary& summary);
  /// The line before the rows, unless it is there.
  bool begin();
  bool append(std::string_view line) const;

 private:
  std::optional<Error> keep_rows(SweepSummary& summary);

  const SweepLines& lines_;
  const SweepGrid& grid_;
  int file_ = -1;  // a descriptor: what is appended is the system's at once
  bool begun_ = false;
};

}  // namespace shardplan::cli
