// What PyTorch says when the device has no memory left, read from a line, a traceback or a log.
//
//   Result<OutOfMemory> oom = read_out_of_memory(text, "log.txt");
//   oom->requested, oom->unallocated   // the block that was asked for; reserved bytes that no tensor holds
//
// Reads the message of every release since 1.0, for CUDA, HIP and XPU; the last one where there are several.
// Not here: which tensor has that size (reason/oom_answer.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "catalog/out_of_memory.h"
#include "catalog/result.h"

namespace shardplan {

/// The longest log that is read.
inline constexpr std::int64_t kLogBytesMax = std::int64_t{256} << 20;

/// `document` names the text in errors.
Result<OutOfMemory> read_out_of_memory(std::string_view text, const std::string& document);

}  // namespace shardplan
