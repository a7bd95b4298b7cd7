#include "validate/collective_validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "estimate/comm.h"
#include "import/collective_tables.h"
#include "units/format.h"

namespace shardplan {
namespace {

constexpr double kHalf = 0.5;
// The search for factors: first steps, the last one worth taking, how far a factor may go, and what a factor
// away from 1 must gain to be worth it.
constexpr double kFirstStep = 0.5, kLastStep = 0.005, kFurthest = 3.0, kPull = 0.01;
constexpr double kLaunchScale = 10e-6;

/// Launch in units of 10 us, then the logarithms of hop, bandwidth and fill.
using Point = std::array<double, 4>;

Calibration calibration_at(const Point& p) {
  return {seconds(p[0] * kLaunchScale), ratio(std::exp(p[1])), ratio(std::exp(p[2])), ratio(std::exp(p[3]))};
}

double distance(const std::vector<const CollectiveRun*>& runs, const Point& p) {
  double sum = 0, pull = 0;
  const Calibration calibration = calibration_at(p);
  for (const CollectiveRun* run : runs) {
    sum += std::fabs(std::log(predicted_time(*run, calibration) / run->measured.raw()));
  }
  for (const double factor : p) pull += std::fabs(factor);
  return sum / static_cast<double>(runs.size()) + kPull * pull;
}

bool allowed(const Point& p) {
  return p[0] >= 0 && std::all_of(p.begin() + 1, p.end(), [](double v) { return std::fabs(v) <= kFurthest; });
}

struct ReadRow {
  std::string id;
  CollectiveRun run;
};

struct Rows {
  std::vector<ReadRow> read;
  std::vector<SkippedRow> skipped;
};

std::string row_id(const CsvRow& row) {
  return row["system"] + ", " + row["collective"] + " of " + row["bytes"] + " bytes";
}

Rows read_rows(const CsvTable& table, const Catalog& catalog) {
  Rows rows;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const CsvRow row{table, i};
    Result<CollectiveRun> run = read_collective_run(row, catalog);
    if (run) {
      rows.read.push_back({row_id(row), std::move(run).value()});
    } else {
      rows.skipped.push_back({row_id(row), row["system"], run.error().message});
    }
  }
  return rows;
}

ValidatedRow judged(const ReadRow& row, double predicted) {
  const CollectiveRun& run = row.run;
  const std::string fabric = run.fabric.empty() ? "inside a node" : run.fabric;
  ValidatedRow result;
  result.id = row.id;
  result.source = run.series;
  result.framework = name(run.question.launcher);
  result.gpu = run.gpu;
  result.features = {name(run.question.collective), fabric};
  result.measured = run.measured.raw();
  result.predicted = predicted;
  result.assumed = run.assumed;
  result.citation = run.citation;
  return result;
}

std::string words(const Calibration& c) {
  return "calibrated: launch +" + format(c.launch) + ", hops x " + format(c.hop) + ", bandwidth x " +
         format(c.bandwidth) + ", pipeline fill x " + format(c.fill);
}

Validation empty_validation(std::vector<SkippedRow> skipped) {
  return {kCollectiveKind, "s", {}, std::move(skipped), {}, {}};
}

}  // namespace

double predicted_time(const CollectiveRun& run, const Calibration& calibration) {
  CommQuestion question = run.question;
  question.cluster = calibrated(question.cluster, calibration);
  question.launch.value += calibration.launch;
  const CommCost<> cost = comm_cost<double>(question);
  for (const CommWay<>& way : cost.ways) {
    const auto& meant = run.kernels;
    if (meant.empty() || std::find(meant.begin(), meant.end(), way.algorithm) != meant.end()) {
      return way.time().raw();
    }
  }
  return cost.best().time().raw();
}

Calibration fit_calibration(const std::vector<const CollectiveRun*>& runs) {
  Point best{};
  double least = distance(runs, best);
  for (double step = kFirstStep; step > kLastStep; step *= kHalf) {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < best.size(); ++i) {
        for (const double change : {step, -step}) {
          Point tried = best;
          tried[i] += change;
          if (!allowed(tried)) continue;
          const double here = distance(runs, tried);
          if (here >= least) continue;
          least = here;
          best = tried;
          better = true;
        }
      }
    }
  }
  return calibration_at(best);
}

Validation validate_collectives(const CsvTable& table, const Catalog& catalog) {
  Rows rows = read_rows(table, catalog);
  Validation validation = empty_validation(std::move(rows.skipped));
  for (const ReadRow& row : rows.read) validation.rows.push_back(judged(row, predicted_time(row.run)));
  return validation;
}

Validation validate_collectives_calibrated(const CsvTable& table, const Catalog& catalog) {
  Rows rows = read_rows(table, catalog);
  Validation validation = empty_validation(std::move(rows.skipped));
  std::map<std::string, std::vector<const ReadRow*>> series;
  for (const ReadRow& row : rows.read) series[row.run.series].push_back(&row);
  for (auto& [name, points] : series) {
    std::stable_sort(points.begin(), points.end(), [](const ReadRow* a, const ReadRow* b) {
      return a->run.question.size.value < b->run.question.size.value;
    });
    std::vector<const CollectiveRun*> fitted;
    for (std::size_t i = 0; i < points.size(); i += 2) fitted.push_back(&points[i]->run);
    const Calibration calibration = fit_calibration(fitted);
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i % 2 == 1) {
        validation.rows.push_back(judged(*points[i], predicted_time(points[i]->run, calibration)));
        validation.rows.back().assumed.push_back(words(calibration));
      } else {
        validation.skipped.push_back({points[i]->id, name, "taken to calibrate its series"});
      }
    }
  }
  return validation;
}

double series_median(const Validation& validation) {
  std::vector<double> medians;
  for (const ErrorGroup& group : by_source(validation)) medians.push_back(error_stats(group.rows).median_ape);
  return quantile(std::move(medians), kHalf);
}

}  // namespace shardplan
