// catalog/evidence_*.json as Evidence.
#pragma once

#include "catalog/evidence.h"
#include "import/json_node.h"

namespace shardplan {

/// Adds the bands and runs of one file.
void read_evidence(const JsonNode& root, Evidence& evidence);

}  // namespace shardplan
