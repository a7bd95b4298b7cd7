// The answer of `shardplan memory`, as text and as JSON, from one value.
#pragma once

#include <string>
#include <vector>

#include "reason/memory_answer.h"
#include "report/json_values.h"

namespace shardplan {

std::string memory_text(const Question& question, const MemoryAnswer& answer,
                        const std::vector<std::string>& assumed);
Json memory_answer_json(const Question& question, const MemoryAnswer& answer,
                        const std::vector<std::string>& assumed);
/// A table of the pipeline stages; empty text for a single one.
/// What measured runs say of a predicted total.
std::string memory_band_words(const ErrorBand& band, Bytes<> total);
std::string stage_lines(const std::vector<MemoryBreakdown<>>& by_stage);
/// Terms of one breakdown as table lines, largest marked; shared with the plan report.
std::string memory_lines(const MemoryBreakdown<>& memory, Bytes<> usable);

}  // namespace shardplan
