// What a config says beside the language model's layers: how weights are stored, and vision and audio towers.
//
//   model.quantization = read_quantization(reader);   // {"fp8", 8 bits, 16384 weights a scale, ...}
//   add_towers(reader, model);                        // extras: {"vision_tower", 423,060,336}
#pragma once

#include "catalog/model.h"
#include "import/config_reader.h"

namespace shardplan {

/// `reader` is on the object that holds quantization_config. An unknown method is an error, never full
/// precision.
Quantization read_quantization(ConfigReader& reader);

/// `reader` is on the outer object. A tower whose structure is unknown counts 0 and is noted.
void add_towers(ConfigReader& reader, Model& model);

}  // namespace shardplan
