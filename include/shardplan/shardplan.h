// The public interface: what adapters (cli/, python/, web/) include, and all of it.
//
//   Result<Question> q = build_question(spec, catalog());   // texts to a question, or the error that points
//   Answer a = answer(Estimator(*q), q->fixed);             // values to values
//   std::string text = plan_text(*q, a, {});                // an answer for people; plan_answer_json for
//   programs
//
// An adapter reads what a person typed, calls these, and prints. It computes nothing and knows no default.
#pragma once

// Values.
#include "catalog/communication.h"
#include "catalog/evidence.h"
#include "catalog/out_of_memory.h"
#include "catalog/question.h"
#include "catalog/result.h"
#include "catalog/serving.h"
#include "estimate/comm.h"
#include "estimate/decode.h"
#include "estimate/estimator.h"
#include "estimate/formulas.h"
#include "estimate/step_timeline.h"
#include "import/catalog.h"
#include "import/cluster_build.h"
#include "import/comm_question.h"
#include "import/csv_table.h"
#include "import/drill_answer.h"
#include "import/flag_list.h"
#include "import/json_text.h"
#include "import/oom_text.h"
#include "import/question.h"
#include "import/serve_question.h"
#include "reason/answer.h"
#include "reason/drill.h"
#include "reason/drill_rubric.h"
#include "reason/memory_answer.h"
#include "reason/oom_answer.h"
#include "reason/serve_answer.h"
#include "report/catalog_report.h"
#include "report/comm_report.h"
#include "report/drill_report.h"
#include "report/evidence_report.h"
#include "report/explain.h"
#include "report/formula_reference.h"
#include "report/json_values.h"
#include "report/memory_report.h"
#include "report/oom_report.h"
#include "report/plan_report.h"
#include "report/serve_report.h"
#include "report/timeline_svg.h"
#include "report/timeline_text.h"
#include "report/timeline_trace.h"
#include "report/validation_report.h"
#include "search/search.h"
#include "units/format.h"
#include "validate/bands.h"
#include "validate/memory_validation.h"
#include "validate/time_validation.h"
