// A file that the program writes: whole or not at all.
//
//   OutputFile file("step.json", "--timeline");
//   file.write(part);                               // as often as needed; false when it fails
//   if (const auto error = file.finish()) return output.error(*error);
//
// Written beside its place under another name and moved there by finish(); removed where that fails or never
// happens. A symbolic link stays one: what it points to is written. What is there and no file, as /dev/null,
// is written as it is.
#pragma once

#include <shardplan/shardplan.h>

#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan::cli {

/// ".svg" of "a/b.svg"; nothing of "a/b" and of ".svg", which is a name without an ending.
std::string extension(const std::string& path);
/// What is wrong with the name of a file whose ending says its format, if anything.
std::optional<Error> format_error(const std::string& path, const std::string& flag,
                                  const std::vector<std::string>& endings, const std::string& expected);

/// The same, or that it cannot be written: to be told before the work whose result it is to hold.
std::optional<Error> file_error(const std::string& path, const std::string& flag,
                                const std::vector<std::string>& endings, const std::string& expected);

class OutputFile {
 public:
  /// `flag` is the one that named the file, for errors.
  OutputFile(std::string path, std::string flag);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Why nothing can be written, if so.
  std::optional<Error> unwritable() const;
  bool write(std::string_view part);
  std::optional<Error> finish();

 private:
  Error unwritable_error() const;

  std::string path_, flag_;
  std::string target_;  // the path, its symbolic links followed
  std::string part_;    // empty where there is no file to be replaced
  std::ofstream stream_;
  bool there_ = false;  // what is written to is
};

/// A whole text; why it could not be written, if so.
std::optional<Error> write_file(const std::string& path, const char* flag, const std::string& text);

// The page of an answer, of the commands that have one.
inline constexpr const char* kReport = "--report";
inline constexpr const char* kReportHelp =
    "write the answer to FILE.html: one page with charts, every number with its formula";
std::optional<Error> report_error(const std::string& path);
/// That it was written.
void add_report(const std::string& path, std::string& text, Json& json);

}  // namespace shardplan::cli
