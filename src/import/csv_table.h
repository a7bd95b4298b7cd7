// A table of texts from a CSV file (RFC 4180): one header line of column names, then rows as long as it.
//
//   Result<CsvTable> table = read_csv(text, "runs.csv");
//   for (const CsvRow row : table->rows()) row["gpus"];   // "" where the file has no such column
//
// Not here: what a column means (validate/).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/result.h"

namespace shardplan {

class CsvTable {
 public:
  CsvTable(std::vector<std::string> columns, std::vector<std::vector<std::string>> rows)
      : columns_(std::move(columns)), rows_(std::move(rows)) {}

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  bool has(std::string_view column) const { return index(column) < columns_.size(); }
  /// A cell; empty where the table has no such column.
  const std::string& at(std::size_t row, std::string_view column) const;

 private:
  std::size_t index(std::string_view column) const;

  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One row of a table that outlives it.
struct CsvRow {
  const CsvTable& table;
  std::size_t number;  // from 0, the header not counted
  const std::string& operator[](std::string_view column) const { return table.at(number, column); }
};

/// `document` names the file in errors: "runs.csv:12: 7 fields where the header has 9".
Result<CsvTable> read_csv(std::string_view text, const std::string& document);

}  // namespace shardplan
