// Evidence as the text of catalog/evidence_*.json: one band or run a line, so that a difference can be read.
#pragma once

#include <string>

#include "catalog/evidence.h"

namespace shardplan {

/// `made_by` is the command that the file says it is from.
std::string evidence_text(const std::string& kind, const Evidence& evidence, const std::string& made_by);

}  // namespace shardplan
