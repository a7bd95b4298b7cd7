// How a row's run deals layers to pipeline chunks, and micro-batches to chunks.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "validate/run_reading.h"

namespace shardplan {
namespace {

std::int16_t few(std::int64_t layers) { return static_cast<std::int16_t>(layers); }
bool is_few(std::int64_t layers) { return layers >= 0 && layers <= std::numeric_limits<std::int16_t>::max(); }

/// Whether the chunks between the first and the last are dealt as evenly as they go, earlier ones more.
bool evenly_between(const std::vector<PipelineChunk>& chunks) {
  for (std::size_t i = 2; i + 1 < chunks.size(); ++i) {
    if (chunks[i].layers > chunks[i - 1].layers || chunks[1].layers - chunks[i].layers > 1) return false;
  }
  return true;
}

}  // namespace

/// "Et*3|(tt|)*6tmL": --pipeline-model-parallel-layout.
void RunReading::take_pipeline_layout(const std::string& text) {
  Plan& p = run_.plan;
  const auto unknown = [&](const char* what) {
    gap("--pipeline-model-parallel-layout \"" + text + "\": " + what);
  };
  const auto chunks = pipeline_layout(text);
  if (!chunks) return unknown("not understood");
  const auto stages = static_cast<std::size_t>(p.pp);
  if (chunks->size() % stages != 0) return unknown("its chunks are no multiple of the stages");
  std::int64_t layers = 0;
  for (std::size_t i = 0; i < chunks->size(); ++i) {
    layers += (*chunks)[i].layers;
    if ((*chunks)[i].prediction_layers > 0 && i + 1 < chunks->size())
      return unknown("prediction layers before the last chunk are not modelled yet");
  }
  if (layers != static_cast<std::int64_t>(run_.question.model.layers.size()))
    return unknown("not as many layers as the model has");
  if (!evenly_between(*chunks)) return unknown("chunks between the ends that differ are not modelled yet");
  p.interleave = static_cast<std::int32_t>(chunks->size() / stages);
  if (chunks->size() == 1) return;
  p.first_layers = few(chunks->front().layers);
  p.last_layers = few(chunks->back().layers);
}

/// Layers of the first and the last stage, and the embedding or the loss counted as one of a chunk's.
void RunReading::take_chunk_ends() {
  Plan& p = run_.plan;
  const auto layers = static_cast<std::int64_t>(run_.question.model.layers.size());
  const std::int64_t chunks = std::int64_t{p.pp} * p.interleave;
  const std::int64_t embedding = args_.has("account-for-embedding-in-pipeline-split") ? 1 : 0,
                     loss = args_.has("account-for-loss-in-pipeline-split") ? 1 : 0;
  if (chunks == 1) return;
  if (embedding + loss > 0) {
    if ((layers + embedding + loss) % chunks != 0)
      return skip("the layers, the embedding and the loss are no multiple of the chunks");
    const std::int64_t each = (layers + embedding + loss) / chunks;
    if (embedding > 0 && is_few(each - 1)) p.first_layers = few(each - 1);
    if (loss > 0 && is_few(each - 1)) p.last_layers = few(each - 1);
    return;
  }
  const std::int64_t first = argument("decoder-first-pipeline-num-layers", Plan::kEven),
                     last = argument("decoder-last-pipeline-num-layers", Plan::kEven);
  if (first == Plan::kEven && last == Plan::kEven) return;
  if (p.interleave > 1) return gap("stages of their own size that are interleaved are not modelled yet");
  if (std::max(first, last) >= layers) return skip("an end of the pipeline has more layers than the model");
  p.first_layers = few(first);
  p.last_layers = few(last);
}

/// torchtitan's generate_split_points (parallelisms/pipelining_utils.py): two chunks a rank where the
/// schedule interleaves, and what does not divide is dealt to the chunks between the ends.
void RunReading::take_torchtitan_chunks() {
  Plan& p = run_.plan;
  std::string schedule = row_["pp_schedule"];
  std::transform(schedule.begin(), schedule.end(), schedule.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (p.pp > 1 && row_["vp"].empty() && schedule.starts_with("interleaved")) {
    p.interleave = 2;
    assume("two model chunks a rank, as the schedule has where nothing else is said");
  }
  const auto layers = static_cast<std::int64_t>(run_.question.model.layers.size());
  const std::int64_t chunks = std::int64_t{p.pp} * p.interleave;
  if (chunks < 3 || layers < chunks || layers % chunks == 0 || !is_few(layers / chunks)) return;
  p.first_layers = p.last_layers = few(layers / chunks);
  if (p.interleave > 1) run_.question.workload.uneven_chunks = true;
  assume("the first and the last chunk with the fewest layers, as the splits are generated");
}

/// NeMo's and Megatron-Bridge's recipes: DeepSeek-V3 and Kimi-K2 fill chunks of 64 over their number and
/// leave the last one what remains (recipes deepseek_v3.py, kimi_k2.py, map_pp_vp_to_layout); 126 layers and
/// 30 are made 128 and 32 with the embedding and the loss, a layer each
/// (account_for_embedding_in_pipeline_split).
void RunReading::take_recipe_chunks() {
  Plan& p = run_.plan;
  const auto layers = static_cast<std::int64_t>(run_.question.model.layers.size());
  const std::int64_t chunks = std::int64_t{p.pp} * p.interleave;
  const std::string model = name_key(row_["model"]);
  const auto filled = static_cast<std::int64_t>(corpus().recipe_layers_filled.value.raw());
  if ((model.starts_with("deepseek-v3") || model.starts_with("kimi-k2")) && filled % chunks == 0) {
    const std::int64_t each = filled / chunks, last = layers - each * (chunks - 1);
    if (last < 0 || last > each) return;
    p.first_layers = few(each);
    p.last_layers = few(last);
    return assume("chunks of " + std::to_string(each) + " layers and a last one of " + std::to_string(last) +
                  ", the recipe's pipeline layout");
  }
  if (layers % chunks == 0 || (layers + 2) % chunks != 0 || !is_few(layers)) return;
  p.first_layers = p.last_layers = few((layers + 2) / chunks - 1);
  assume("the embedding and the loss dealt as a layer each, as the recipe does");
}

void RunReading::take_pipeline() {
  Plan& p = run_.plan;
  if (run_.framework == "torchtitan") return take_torchtitan_chunks();
  const std::string& framework = row_["framework"];
  if (!told_ && p.pp > 1 && (framework.starts_with("NeMo") || framework.starts_with("Megatron-Bridge")))
    return take_recipe_chunks();
  const std::string layout = args_.text("pipeline-model-parallel-layout");
  if (layout.empty()) {
    take_chunk_ends();
  } else {
    take_pipeline_layout(layout);
  }
  const std::int64_t group = argument("microbatch-group-size-per-virtual-pipeline-stage", 0);
  if (p.interleave > 1 && group > 0 && group < std::numeric_limits<std::int32_t>::max())
    p.micro_batch_group = static_cast<std::int32_t>(group);
}

}  // namespace shardplan
