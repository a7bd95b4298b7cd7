// Sections of the catalog that are a few figures each, beside catalog_load.cpp. Private to import/.
#pragma once

#include "import/catalog.h"
#include "import/json_node.h"

namespace shardplan {

void read_reliability(const JsonNode& root, Catalog& catalog);
void read_risk(const JsonNode& root, Catalog& catalog);
void read_serving_memory(const JsonNode& root, Catalog& catalog);
void read_serving_time(const JsonNode& root, Catalog& catalog);

}  // namespace shardplan
