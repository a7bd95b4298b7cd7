// A Hugging Face config.json of a decoder language model, as a Model.
//
//   Result<Model> m = import_hf_config(text, "config.json");
//   count_parameters(*m).total   // 8,030,261,248 for Llama-3.1-8B
//   m->assumed                   // "num_key_value_heads = 32 (num_attention_heads, class default of
//   LlamaConfig)"
//
// A field that is missing takes the default of the architecture's reference class, and `assumed` says so. An
// unknown architecture, a field without default, a value out of any sensible range: an Error that names the
// field. Nested configs (text_config, llm_config, thinker_config, language_config) are entered; towers beside
// them become extras.
#pragma once

#include <string_view>

#include "catalog/model.h"
#include "catalog/result.h"

namespace shardplan {

Result<Model> import_hf_config(std::string_view text, std::string_view where);

}  // namespace shardplan
