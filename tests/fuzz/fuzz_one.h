// What every fuzzed importer provides: fuzz_one() feeds it one input. It is not a test of what the importer
// returns; only a crash, a failed assertion, an exception that escapes or a hang counts. Example:
// hf_config_fuzz.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

// Returns 0, as LLVMFuzzerTestOneInput does.
int fuzz_one(const std::uint8_t* data, std::size_t size);
