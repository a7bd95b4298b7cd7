// Does a model serve on a cluster: memory, time of a token and of a prompt under every split, the best of
// them, and what binds it.
//
//   ServeAnswer a = serve_answer(question, evidence);
//   a.shown().cost.tpot, a.feasible(), a.findings.binding.statement
//
// Not here: the search itself (search/serve_search.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/serving.h"
#include "reason/answer.h"
#include "reason/serve_engine.h"
#include "search/serve_search.h"

namespace shardplan {

struct ServeAnswer {
  ServeQuestion question;
  ServeSearch search;
  EngineSays engine;  // of the plan that is shown
  MeasuredDomain domain;
  Answer findings;  // what binds, failure modes, thresholds, unknowns, the tornado, the band

  const ServePlan& shown() const { return search.best(); }
  const std::vector<ServePlan>& plans() const { return search.plans; }
  bool feasible() const { return shown().good(); }
};

/// "tp 8, pp 2, dp-attention 4"
std::string serve_split_words(const ServeSplit& split);

/// Which told degree cannot be, with the nearest that can; nothing where some split is legal.
std::optional<Error> why_no_split(const ServeQuestion& question);

/// Of a question with at least one legal split.
ServeAnswer serve_answer(const ServeQuestion& question, const Evidence& evidence = {});

}  // namespace shardplan
