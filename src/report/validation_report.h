// Errors of predictions as text and JSON.
#pragma once

#include <optional>
#include <string>

#include "report/json_values.h"
#include "validate/errors.h"

namespace shardplan {

/// Lists the rows that are off by more than `over`, a fraction; the ten that are furthest off where none is
/// given.
std::string validation_text(const Validation& validation, std::optional<double> over = {});
Json validation_json(const Validation& validation);

}  // namespace shardplan
