// The command line of a Megatron-LM run, as names and texts.
//
//   MegatronArguments args("--num-layers=12 --swiglu --moe-layer-freq=([0]*3+[1]*12)");
//   args.has("swiglu"), args.number("num-layers", 1)
//
// Not here: what an argument means for memory or time (validate/).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardplan {

class MegatronArguments {
 public:
  explicit MegatronArguments(std::string_view line);

  bool has(const std::string& name) const { return values_.contains(name); }
  /// Empty for a flag without a value and for one that is not there.
  std::string text(const std::string& name) const;
  /// `otherwise` where it is not there; nothing where it is no whole number.
  std::optional<std::int64_t> number(const std::string& name, std::int64_t otherwise) const;

 private:
  std::map<std::string, std::string> values_;
};

struct PipelineChunk {
  std::int64_t layers = 0, prediction_layers = 0;
  bool operator==(const PipelineChunk&) const = default;
};

/// "Et*3|(tt|)*29m|L": what each chunk holds between the embedding and the loss; nothing where it is no
/// layout.
std::optional<std::vector<PipelineChunk>> pipeline_layout(std::string_view text);

/// "([0]*3+[1]*12)" or a frequency: whether each layer has experts; nothing where the text is neither.
std::optional<std::vector<bool>> moe_layers(const std::string& pattern, std::int64_t layers);

}  // namespace shardplan
