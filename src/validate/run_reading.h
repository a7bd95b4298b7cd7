// One row of the corpus on its way to a TrainingRun. Private to validate/.
#pragma once

#include <cstdint>
#include <string>

#include "import/megatron_arguments.h"
#include "validate/training_run.h"

namespace shardplan {

/// Reads one row; the first reason to skip it is kept.
class RunReading {
 public:
  RunReading(const CsvRow& row, const Catalog& catalog)
      : row_(row), catalog_(catalog), args_(row["framework_args"]), told_(!row["framework_args"].empty()) {}

  Result<TrainingRun> run();

 private:
  void skip(const std::string& reason) {
    if (reason_.empty()) reason_ = reason;
  }
  void assume(const std::string& text) { run_.assumed.push_back(text); }
  void gap(const std::string& reason) {
    if (run_.memory_gap.empty()) run_.memory_gap = reason;
  }

  /// A whole number of a column, `otherwise` where it is blank.
  std::int64_t column(const char* name, std::int64_t otherwise);
  std::int64_t needed(const char* name);
  std::int64_t argument(const char* name, std::int64_t otherwise);

  const Corpus& corpus() const { return catalog_.corpus; }

  // training_run.cpp
  void take_framework();
  void take_cluster();
  void take_plan();
  std::int32_t interleave();
  void take_expert_tensor();
  void take_uneven_chunks();
  void take_sharding();
  void take_sequence_parallel();
  void take_micro_batch();
  void take_batch();
  void take_precision();
  Recompute every_other_layer() const;
  void take_recompute();
  // training_pipeline.cpp
  void take_pipeline();
  void take_pipeline_layout(const std::string& text);
  void take_chunk_ends();
  void take_torchtitan_chunks();
  void take_recipe_chunks();
  // training_model.cpp
  void take_model();
  void take_prediction_layers();
  void take_adapters();
  void take_layers(std::int64_t norms, bool biased);
  bool take_published_model();
  std::int64_t take_vocabulary();
  Mixer mixer(std::int64_t hidden, bool biased);
  void take_experts(const DenseMlp& dense);
  const Model* published_shape(const std::string& what);
  // training_kernels.cpp
  void take_kernels();
  void take_megatron_arguments();
  void take_fp8_weights();

  const CsvRow& row_;
  const Catalog& catalog_;
  MegatronArguments args_;
  bool told_;  // the run's command line is known
  TrainingRun run_;
  Model shape_;
  std::string reason_;
};

}  // namespace shardplan
