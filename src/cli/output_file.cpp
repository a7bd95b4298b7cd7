#include "cli/output_file.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace shardplan::cli {
namespace {

/// The last link of a chain may point to what is not there yet, so that the path cannot be made canonical. Of
/// a chain without an end some link.
std::filesystem::path link_target(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  std::error_code failed;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, failed); ++i)
    path = path.parent_path() / std::filesystem::read_symlink(path, failed);
  return path;
}

}  // namespace

std::string extension(const std::string& path) { return std::filesystem::path(path).extension().string(); }

std::optional<Error> format_error(const std::string& path, const std::string& flag,
                                  const std::vector<std::string>& endings, const std::string& expected) {
  const std::string format = extension(path);
  if (std::find(endings.begin(), endings.end(), format) != endings.end()) return std::nullopt;
  return Error{"unknown_format", "\"" + path + "\" names no format", flag, expected,
               nearest_name(format, endings)};
}

std::optional<Error> file_error(const std::string& path, const std::string& flag,
                                const std::vector<std::string>& endings, const std::string& expected) {
  auto error = format_error(path, flag, endings, expected);
  return error ? error : OutputFile(path, flag).unwritable();
}

// Named by the process, so that two that write the same file do not meet before it is whole.
OutputFile::OutputFile(std::string path, std::string flag)
    : path_(std::move(path)), flag_(std::move(flag)), target_(link_target(path_)) {
  std::error_code ignored;
  const std::filesystem::file_status found = std::filesystem::symlink_status(target_, ignored);
  if (std::filesystem::is_directory(found) || std::filesystem::is_symlink(found)) return;
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    // Opened when it is written: who reads a pipe takes its closing for the end.
    there_ = access(target_.c_str(), W_OK) == 0;
    return;
  }
  part_ = target_ + "." + std::to_string(getpid()) + ".part";
  stream_.open(part_, std::ios::binary);
  there_ = stream_.is_open();
}

OutputFile::~OutputFile() {
  if (!there_ || part_.empty()) return;
  stream_.close();
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

bool OutputFile::write(std::string_view part) {
  if (there_ && part_.empty() && !stream_.is_open()) stream_.open(target_, std::ios::binary);
  stream_.write(part.data(), static_cast<std::streamsize>(part.size()));
  return stream_.good();
}

std::optional<Error> OutputFile::unwritable() const {
  return there_ ? std::nullopt : std::optional(unwritable_error());
}

Error OutputFile::unwritable_error() const {
  return {"unwritable", "\"" + path_ + "\" cannot be written", flag_,
          "a file in a folder that is there and may be written to", ""};
}

std::optional<Error> OutputFile::finish() {
  bool good = there_ && stream_.good();
  if (good) {
    stream_.close();
    std::error_code failed;
    if (!stream_.fail() && !part_.empty()) std::filesystem::rename(part_, target_, failed);
    good = !stream_.fail() && !failed;
  }
  there_ = there_ && !good;  // what is left of it is removed
  return good ? std::nullopt : std::optional(unwritable_error());
}

std::optional<Error> write_file(const std::string& path, const char* flag, const std::string& text) {
  OutputFile file(path, flag);
  file.write(text);
  return file.finish();
}

std::optional<Error> report_error(const std::string& path) {
  return file_error(path, kReport, {".html"}, "a file that ends in .html (a page)");
}

void add_report(const std::string& path, std::string& text, Json& json) {
  text += "\nreport, written to " + path + "\n";
  json["report"] = {{"file", path}};
}

}  // namespace shardplan::cli
