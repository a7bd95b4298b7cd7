#include "import/oom_text.h"

#include <array>
#include <optional>

#include "import/limits.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr std::string_view kAsked = "Tried to allocate ";

struct Unit {
  std::string_view name;
  Bytes<> size;
};
constexpr std::array kUnits{Unit{"bytes", bytes(1)}, Unit{"KiB", kibibytes(1)}, Unit{"MiB", mebibytes(1)},
                            Unit{"GiB", gibibytes(1)}};

/// "2.50 GiB" at the beginning of a text. A size that no device has is a slip of the message: releases 2.0 to
/// 2.2 print the use of a process in another container as 17179869184.00 GiB.
std::optional<Bytes<>> amount_at(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto value = parse_number(text.substr(0, space));
  if (!value || *value < 0) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (!text.substr(space + 1).starts_with(unit.name)) continue;
    const Bytes<> amount = *value * unit.size;
    return amount.raw() <= kMemoryLimits.high ? std::optional(amount) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Bytes<>> after(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  if (at == std::string_view::npos) return std::nullopt;
  return amount_at(text.substr(at + phrase.size()));
}

/// The amount whose two words end where the phrase begins: "29.61 GiB already allocated".
std::optional<Bytes<>> before(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::size_t unit = text.rfind(' ', at - 1);
  if (unit == std::string_view::npos || unit == 0) return std::nullopt;
  const std::size_t start = text.find_last_of(" (;", unit - 1);
  return amount_at(text.substr(start == std::string_view::npos ? 0 : start + 1));
}

template <class... Readings>
std::optional<Bytes<>> first_of(const Readings&... readings) {
  std::optional<Bytes<>> found;
  ((found = found ? found : readings), ...);
  return found;
}

/// A message, with the line breaks of a terminal or of a mail taken out.
std::string message_at(std::string_view text) {
  // Longer than any: each other process on the device adds a sentence.
  constexpr std::size_t kMessageMost = 4000;
  std::string message;
  for (const char c : text.substr(0, kMessageMost)) {
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!blank) message += c;
    if (blank && !message.empty() && message.back() != ' ') message += ' ';
  }
  return message;
}

}  // namespace

Result<OutOfMemory> read_out_of_memory(std::string_view text, const std::string& document) {
  const std::size_t at = text.rfind(kAsked);
  if (at == std::string_view::npos) {
    return Error{"not_an_oom", "no out-of-memory message of PyTorch", document,
                 "a text or a file with \"CUDA out of memory. Tried to allocate 2.50 GiB ...\"", ""};
  }
  const std::string message = message_at(text.substr(at));
  OutOfMemory oom;
  const auto requested = after(message, kAsked);
  if (!requested || !(*requested > bytes(0))) {
    return Error{"bad_value", "how much was asked for cannot be read", document,
                 "\"Tried to allocate 2.50 GiB\"", ""};
  }
  oom.requested = *requested;
  // 2.1 spells it "capacty"; 1.x and 2.0 have all in parentheses.
  oom.capacity = first_of(after(message, " total capacity of "), after(message, " total capacty of "),
                          before(message, " total capacity"));
  oom.free = first_of(after(message, " of which "), before(message, " free;"));
  oom.in_use = after(message, " this process has ");
  oom.allocated =
      first_of(after(message, " Of the allocated memory "), before(message, " already allocated"));
  // Before 1.5 "cached" was what is cached and free.
  oom.unallocated =
      first_of(before(message, " is reserved by PyTorch but unallocated"), before(message, " cached)"));
  if (!oom.unallocated && oom.allocated) {
    const auto reserved = before(message, " reserved in total by PyTorch");
    if (reserved && *reserved >= *oom.allocated) oom.unallocated = *reserved - *oom.allocated;
  }
  return oom;
}

}  // namespace shardplan
