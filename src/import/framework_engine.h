// What a search tries of a framework: the `engine` of an entry of catalog/frameworks.json.
//
//   {"schedules": ["1f1b"], "schedules_source": "deepspeed-pipe",
//    "precisions": ["bf16", "fp16"], "precisions_source": "deepspeed-config", "shard_groups":
//    "deepspeed-mics"}
//
// Each thing that it can do names the source that says so.
#pragma once

#include "catalog/workload.h"
#include "import/sourced_json.h"

namespace shardplan {

Framework::Engine read_engine(const JsonNode& node, const Sources& sources);

}  // namespace shardplan
