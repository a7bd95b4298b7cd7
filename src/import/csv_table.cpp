#include "import/csv_table.h"

#include <csv.h>

#include <algorithm>

namespace shardplan {
namespace {

// A published table has tens of columns and thousands of rows; far beyond that it is another kind of file.
constexpr std::size_t kColumnsMax = 1000, kRowsMax = 1'000'000;

/// What libcsv's callbacks fill.
struct Reading {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> fields;
};

extern "C" void take_field(void* text, std::size_t length, void* reading) {
  static_cast<Reading*>(reading)->fields.emplace_back(static_cast<const char*>(text), length);
}

extern "C" void take_line(int, void* reading) {
  auto& r = *static_cast<Reading*>(reading);
  r.lines.push_back(std::move(r.fields));
  r.fields.clear();
}

/// libcsv's parser, freed whatever happens.
class Parser {
 public:
  Parser() { csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() { csv_free(&parser_); }

  bool read(std::string_view text, Reading& reading) {
    const std::size_t read = csv_parse(&parser_, text.data(), text.size(), take_field, take_line, &reading);
    return read == text.size() && csv_fini(&parser_, take_field, take_line, &reading) == 0;
  }
  std::string message() { return csv_strerror(csv_error(&parser_)); }

 private:
  csv_parser parser_{};
};

Error wrong(const std::string& document, std::size_t line, std::string message, std::string expected) {
  return {"bad_table", std::move(message), document + ":" + std::to_string(line), std::move(expected), ""};
}

}  // namespace

std::size_t CsvTable::index(std::string_view column) const {
  return static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) - columns_.begin());
}

const std::string& CsvTable::at(std::size_t row, std::string_view column) const {
  static const std::string kNothing;
  const std::size_t i = index(column);
  return i < columns_.size() ? rows_[row][i] : kNothing;
}

Result<CsvTable> read_csv(std::string_view text, const std::string& document) {
  // Spreadsheets write it before UTF-8; it is no part of the first column's name.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Reading reading;
  Parser parser;
  const char* form = "comma-separated fields, quoted where they hold a comma, a quote or a line end";
  if (!parser.read(text, reading)) {
    return wrong(document, reading.lines.size() + 1, "not a CSV table: " + parser.message(), form);
  }
  if (reading.lines.empty()) return wrong(document, 1, "no header line", "a line of column names, then rows");
  std::vector<std::string> columns = std::move(reading.lines.front());
  reading.lines.erase(reading.lines.begin());
  if (columns.size() > kColumnsMax || reading.lines.size() > kRowsMax) {
    return wrong(
        document, 1, "too large a table",
        "at most " + std::to_string(kColumnsMax) + " columns and " + std::to_string(kRowsMax) + " rows");
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), columns[i]) !=
        columns.begin() + static_cast<std::ptrdiff_t>(i)) {
      return wrong(document, 1, "column \"" + columns[i] + "\" stands twice", "each column once");
    }
  }
  for (std::size_t i = 0; i < reading.lines.size(); ++i) {
    if (reading.lines[i].size() == columns.size()) continue;
    return wrong(document, i + 2,
                 std::to_string(reading.lines[i].size()) + " fields where the header has " +
                     std::to_string(columns.size()),
                 "as many fields as the header");
  }
  return CsvTable(std::move(columns), std::move(reading.lines));
}

}  // namespace shardplan
