// What is said of a plan in every form of its answer: sentences, rows.
//
//   band_words(question, answer)    // "of 168 measured runs on h100-sxm, 8 in 10 took 0.91 to 1.09 times
//   ..."
//
// Not here: how they are laid out (plan_report.h, html_report.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reason/answer.h"

namespace shardplan {

/// The terms that take time, most exposed first.
std::vector<TimeTerm> by_exposed(const TimeBreakdown<>& time);

/// What measured runs say of the best plan's step.
std::string band_words(const Question& question, const Answer& answer);
/// Where the limit lies inside the error band of the best plan's memory, and the fastest plan out of its
/// reach: a sentence each; none where it is not tight.
std::vector<std::string> tight_sentences(const Answer& answer);

/// How many of the plans fell for one reason.
struct CensusRow {
  std::string what;
  std::int64_t count = 0;
  std::string why;
};
/// Without those that fit.
std::vector<CensusRow> census_rows(const Census& census);
/// "542,651 legal plans in 79 ms: the memory or step time of 302 was worked out, 108 fit"
std::string searched_words(const Census& census, Seconds<> time);
std::string miss_words(const NearestMiss& miss);
std::string stopped_words(const SearchResult& result);

/// "no plan fits: llama3-8b on 8 x h100-sxm"
std::string no_plan_words(const Question& question, const Answer& answer);

}  // namespace shardplan
