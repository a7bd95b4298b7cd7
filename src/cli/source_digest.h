// The sources of the library that this program was built from, as a digest.
//
//   kSourceDigest   // "0123456789abcdef": another one where any file of src/ that can change an answer is
//   another
//
// Made by tools/digest_sources.cmake when the program is built. Not here: the compiler and the libraries; the
// catalog, which has a digest of its own.
#pragma once

namespace shardplan::cli {

extern const char* const kSourceDigest;

}  // namespace shardplan::cli
