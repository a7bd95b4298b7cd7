// shardplan's public interface: plain values in, plain values out.
//
//   auto question = shardplan::build_question(spec, shardplan::catalog());   // or an error that says where
//   shardplan::Estimator estimator(*question);
//   shardplan::Answer a = shardplan::answer(estimator, question->fixed);
//   std::cout << shardplan::plan_text(*question, a, {});
//
// Adapters (the command line, later the Python package and the page) include this and nothing else.
#pragma once

#include "estimate/estimator.h"
#include "estimate/formulas.h"
#include "import/catalog.h"
#include "import/json_text.h"
#include "import/question.h"
#include "reason/answer.h"
#include "reason/memory_answer.h"
#include "report/explain.h"
#include "report/formula_reference.h"
#include "report/json_values.h"
#include "report/memory_report.h"
#include "report/plan_report.h"
#include "search/search.h"
#include "units/format.h"
