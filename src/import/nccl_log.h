// The output of nccl-tests and rccl-tests as a table in the columns of published collectives.
//
//   if (is_nccl_log(text)) table = read_nccl_log(text, "run.log", {.network = "ib-ndr-400"});
//   table->at(0, "time_us")    // the out-of-place time of the first size, as printed
//
// Read from it: collective, ranks, hosts, device, sizes, times, wrong results. It does not name the network,
// so a person must; old versions do not name the collective either. Not here: what the columns mean
// (validate/collective_run.h).
#pragma once

#include <string>
#include <string_view>

#include "import/csv_table.h"

namespace shardplan {

/// Whether some comment line is the heading of such a table.
bool is_nccl_log(std::string_view text);

/// What a person tells of a log. The network goes into every row; it may be empty where all ranks are on one
/// host. The collective is for logs that do not name their test.
struct NcclLogNotes {
  std::string network, collective;
};

Result<CsvTable> read_nccl_log(std::string_view text, const std::string& document, const NcclLogNotes& notes);

}  // namespace shardplan
