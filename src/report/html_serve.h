// The answer of `shardplan serve` as one page, of the same parts as that of `plan` (html_report.h).
//
//   std::string html = serve_html(answer);
//
// It says what serve_text says, draws it, and every number that a formula made opens the formula.
#pragma once

#include <string>

#include "reason/serve_answer.h"

namespace shardplan {

std::string serve_html(const ServeAnswer& answer);

}  // namespace shardplan
