// catalog/corpus.json as Corpus.
#pragma once

#include "catalog/corpus.h"
#include "import/sourced_json.h"

namespace shardplan {

void read_corpus(const JsonNode& root, const Sources& sources, Corpus& corpus);

}  // namespace shardplan
