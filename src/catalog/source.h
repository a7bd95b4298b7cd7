// Where a number comes from. Nothing numeric enters the catalog without it.
#pragma once

#include <string>

#include "units/quantity.h"

namespace shardplan {

enum class SourceKind { kDatasheet, kMeasured, kPublished, kFitted, kAssumed, kStandard, kUser };

struct Source {
  SourceKind kind = SourceKind::kAssumed;
  std::string id;     // key in catalog/sources.json, "flag --bw", or a file name
  std::string title;  // "NVIDIA H100 datasheet"
  std::string ref;    // address, table, page
  std::string date;   // "2024-03"
  std::string note;   // why this value, when it is not plainly printed there
};

template <class Q>
struct Sourced {
  Q value{};
  Source source{};
  /// One line for an explanation: "NVIDIA H100 datasheet (datasheet)".
  std::string label() const;
};

std::string label(const Source& source);
const char* name(SourceKind kind);

template <class Q>
std::string Sourced<Q>::label() const {
  return shardplan::label(source);
}

}  // namespace shardplan
