// The launch commands of a serving answer, as --export prints them: one for the replicas that do everything,
// or one for those that compute prompts and one for those that decode.
#pragma once

#include <shardplan/shardplan.h>

#include <string>
#include <vector>

namespace shardplan::cli {

/// Of an answer under an engine. `model`: as the person named it; a catalog's name becomes its hub id.
std::vector<ServeLaunch> serve_launches(const ServeAnswer& answer, const std::string& model);

/// "launch command of each of 8 replicas (tp 8)" and the command, for each.
std::string launches_text(const ServeAnswer& answer, const std::vector<ServeLaunch>& launches);
Json launches_json(const ServeAnswer& answer, const std::vector<ServeLaunch>& launches);

}  // namespace shardplan::cli
