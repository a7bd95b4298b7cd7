// The output of nccl-tests and rccl-tests as a table in the columns of published collectives.
//
//   if (is_nccl_log(text)) table = read_nccl_log(text, "run.log", "ib-ndr-400");
//   table->at(0, "time_us")    // the out-of-place time of the first size, as printed
//
// Read from it: collective, ranks, hosts, device, sizes, times. It does not name the network, so a person
// must. Not here: what the columns mean (validate/collective_run.h).
#pragma once

#include <string>
#include <string_view>

#include "import/csv_table.h"

namespace shardplan {

/// Whether some comment line is the heading of such a table.
bool is_nccl_log(std::string_view text);

/// `network` goes into every row; it may be empty where all ranks are on one host.
Result<CsvTable> read_nccl_log(std::string_view text, const std::string& document,
                               const std::string& network);

}  // namespace shardplan
