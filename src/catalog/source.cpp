#include "catalog/source.h"

namespace shardplan {

const char* name(SourceKind kind) {
  switch (kind) {
    case SourceKind::kDatasheet:
      return "datasheet";
    case SourceKind::kMeasured:
      return "measured";
    case SourceKind::kPublished:
      return "published";
    case SourceKind::kFitted:
      return "fitted";
    case SourceKind::kAssumed:
      return "assumed";
    case SourceKind::kStandard:
      return "standard";
    case SourceKind::kUser:
      return "user";
  }
  return "?";
}

std::string label(const Source& source) {
  const std::string& what = source.title.empty() ? source.id : source.title;
  if (source.kind == SourceKind::kUser && what.starts_with("--")) return "flag " + what;
  return what.empty() ? name(source.kind) : what + " (" + name(source.kind) + ")";
}

}  // namespace shardplan
