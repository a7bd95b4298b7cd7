// Flags that change what a training step keeps and where: adapters, host offload, expert load, the allocator.
// Private to import/: question.cpp calls these in its order.
//
//   read_adapters(flags, catalog, q);   // --lora 16:q_proj,v_proj --quantized-base nf4
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "import/flag_reader.h"

namespace shardplan {

/// --lora RANK[:modules] and --quantized-base.
void read_adapters(FlagReader& flags, const Catalog& catalog, Question& q);
/// --expert-imbalance or --capacity-factor.
void read_expert_load(FlagReader& flags, Question& q);
/// --expandable-segments, --unsharded-start.
void read_allocation(FlagReader& flags, Question& q);
/// --data-loading.
void read_data_loading(FlagReader& flags, Question& q);
void read_tensor_overlap(FlagReader& flags, Question& q);
/// --offload, as far as it can be read without a framework.
std::optional<std::uint8_t> read_offload(FlagReader& flags);
/// What only the framework and the device can say of it.
void check_offload(FlagReader& flags, const Question& q);

/// What the paper's closed forms do not know: "frozen weights"; empty where they know all.
std::string beyond_closed_forms(const Question& q);

}  // namespace shardplan
