#include "cli/sweep_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace shardplan::cli {
namespace {

constexpr const char* kOut = "--out";
constexpr mode_t kReadWrite = 0666;  // what the user's mask leaves of it

}  // namespace

SweepOutput::~SweepOutput() {
  if (file_ >= 0) close(file_);
}

std::optional<Error> SweepOutput::open(bool overwrite, SweepSummary& summary) {
  const std::string& path = summary.out;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kReadWrite);
  struct stat info {};
  if (file_ < 0 || fstat(file_, &info) != 0) {
    return Error{"unwritable", "\"" + path + "\" cannot be written", kOut,
                 "a file in a folder that is there and may be written to", ""};
  }
  if (!S_ISREG(info.st_mode)) return std::nullopt;  // a pipe or a device keeps nothing
  if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{"in_use", "another process is writing \"" + path + "\"", kOut,
                 "one sweep at a time for each file", ""};
  }
  if (!overwrite) return keep_rows(summary);
  if (ftruncate(file_, 0) == 0) return std::nullopt;
  return Error{"unwritable", "\"" + path + "\" cannot be emptied", kOut, "a file that may be written to", ""};
}

std::optional<Error> SweepOutput::keep_rows(SweepSummary& summary) {
  std::ifstream file(summary.out, std::ios::binary);
  const auto item = [&](std::int64_t index) { return sweep_item(grid_, index); };
  const Result<std::int64_t> kept = kept_bytes(file, lines_, item, summary);
  if (!kept) return kept.error();
  begun_ = *kept > 0;
  if (file.is_open() && ftruncate(file_, *kept) == 0 && lseek(file_, *kept, SEEK_SET) == *kept)
    return std::nullopt;
  return Error{"unwritable", "\"" + summary.out + "\" cannot be continued", kOut,
               "a file that may be read and written to", ""};
}

bool SweepOutput::begin() { return begun_ || append(lines_.header()); }

bool SweepOutput::append(std::string_view line) const {
  while (!line.empty()) {
    const ssize_t written = ::write(file_ < 0 ? STDOUT_FILENO : file_, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace shardplan::cli
