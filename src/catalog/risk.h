// By what a plan's risks are judged: from which size on something is said, and what a usual disturbance is.
//
//   question.risk->felt.value     // 0.1: a step that is longer by this share is felt
//   question.risk->felt.source    // who counts so
//
// Data: catalog/risk.json, the only place; what an answer states of them it lists with their sources. Not
// here: what is said with them (reason/).
#pragma once

#include <array>

#include "catalog/source.h"

namespace shardplan {

struct RiskFigures {
  Sourced<Ratio<>> felt, exposed, worth_saying, bubble, slow_gpu, many_replicas, fragmentation,
      network_margin, effective_time, run_days, cache_load, token_time_off;
};

struct RiskFigure {
  const char* id;  // in catalog/risk.json, and of the figures that state it
  Sourced<Ratio<>> RiskFigures::*figure;
  bool share;         // printed in per cent
  const char* words;  // what follows the number
};
inline constexpr std::array kRiskFigures{
    RiskFigure{"felt_share", &RiskFigures::felt, true, "more of a step or a token is felt"},
    RiskFigure{"exposed_share", &RiskFigures::exposed, true,
               "of compute, or of the rest of a token, is what traffic that nothing hides may add"},
    RiskFigure{"worth_saying_share", &RiskFigures::worth_saying, true, "of the step is worth a line"},
    RiskFigure{"bubble_share_allowed", &RiskFigures::bubble, true, "of the step is what a bubble may be"},
    RiskFigure{"slow_gpu_share", &RiskFigures::slow_gpu, true, "is what one slow GPU lags behind the others"},
    RiskFigure{"many_replicas", &RiskFigures::many_replicas, false,
               "replicas are so many that most steps meet a slow one"},
    RiskFigure{"fragmentation_high_share", &RiskFigures::fragmentation, true,
               "of what is allocated is the high end of fragmentation"},
    RiskFigure{"network_margin", &RiskFigures::network_margin, false,
               "times what traffic needs to hide is bandwidth enough"},
    RiskFigure{"effective_time_share", &RiskFigures::effective_time, true,
               "of the time in steps that count is what large runs reach"},
    RiskFigure{"run_days", &RiskFigures::run_days, false,
               "days are how long a run is taken to last: what is expected in them is told"},
    RiskFigure{"cache_load", &RiskFigures::cache_load, false,
               "times the load is cache enough for answers that run longer than told"},
    RiskFigure{"token_time_off", &RiskFigures::token_time_off, false,
               "times what is predicted is what a token may well take"}};

}  // namespace shardplan
