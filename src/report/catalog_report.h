// What the catalog knows: tables with the figures that people compare, and one entry in full, each number
// with its source.
//
//   devices_text(catalog().devices);   device_text(**find_device(catalog(), "h100", "NAME"));
//
// Not here: looking names up (import/catalog.h).
#pragma once

#include <span>
#include <string>

#include "catalog/cluster.h"
#include "catalog/device.h"
#include "catalog/model.h"
#include "catalog/workload.h"
#include "report/json_values.h"

namespace shardplan {

/// One entry as a list of named numbers: what both outputs of `catalog KIND NAME` are made of.
struct CatalogEntry {
  struct Row {
    std::string what;  // "memory reported"
    std::string key;   // "memory_reported_bytes"
    double value = 0;  // SI base units
    std::string text;  // "79.18 GiB"
    Source source;
  };
  std::string name;
  std::string description;  // one line
  std::vector<std::string> aliases;
  std::vector<Row> rows;
  std::vector<std::string> headline;  // the cells of the table of all entries, after the name
};

/// "NVIDIA H100 datasheet (datasheet), table 1, 2024-03"
std::string source_text(const Source& source);

CatalogEntry catalog_entry(const Device& device);
CatalogEntry catalog_entry(const Fabric& fabric);
CatalogEntry catalog_entry(const Framework& framework);
CatalogEntry catalog_entry(const Timing& timing);
/// `description` and `aliases` are those of the preset that the cluster was made from.
CatalogEntry catalog_entry(const Cluster& cluster);
CatalogEntry catalog_entry(const Model& model);

/// `columns` are the headings of the headline's cells, the name's included.
std::string catalog_table(std::span<const CatalogEntry> entries, const std::vector<std::string>& columns);
std::vector<std::string> device_columns();
std::vector<std::string> fabric_columns();
std::vector<std::string> framework_columns();
std::vector<std::string> timing_columns();
std::vector<std::string> cluster_columns();
std::vector<std::string> model_columns();

std::string catalog_entry_text(const CatalogEntry& entry);
Json catalog_entry_json(const CatalogEntry& entry);

}  // namespace shardplan
