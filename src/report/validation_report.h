// Errors of predictions as text and JSON.
#pragma once

#include <string>

#include "report/json_values.h"
#include "validate/errors.h"

namespace shardplan {

/// `worst` = how many of the rows that are furthest off to list.
std::string validation_text(const Validation& validation, std::size_t worst = 10);
Json validation_json(const Validation& validation);

}  // namespace shardplan
