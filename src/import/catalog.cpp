#include "import/catalog.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "import/hf_config.h"
#include "import/json_text.h"

namespace shardplan {
namespace {

template <class Entry>
const std::vector<std::string>& aliases_of(const Entry& entry) {
  static const std::vector<std::string> kNone;
  if constexpr (requires { entry.aliases; }) {
    return entry.aliases;
  } else {
    return kNone;
  }
}

template <class Entry>
Error unknown_name(const std::vector<Entry>& entries, const char* noun, std::string_view name,
                   std::string_view where) {
  constexpr std::size_t kMostListed = 8;
  std::vector<std::string> names;
  std::string list;
  for (const Entry& e : entries) {
    names.push_back(name_key(e.name));
    list += (list.empty() ? ": " : ", ") + e.name;
    for (const std::string& alias : aliases_of(e)) names.push_back(name_key(alias));
  }
  return Error{"unknown_name", std::string("no ") + noun + " named \"" + std::string(name) + "\"",
               std::string(where),
               std::string("a ") + noun + " of the catalog" +
                   (entries.size() > kMostListed ? " (shardplan catalog lists them)" : list),
               nearest_name(name_key(name), names)};
}

template <class Entry>
Result<const Entry*> find_named(const std::vector<Entry>& entries, const char* noun, std::string_view name,
                                std::string_view where) {
  const std::string key = name_key(name);
  for (const Entry& e : entries) {
    if (name_key(e.name) == key) return &e;
    for (const std::string& alias : aliases_of(e)) {
      if (name_key(alias) == key) return &e;
    }
  }
  return unknown_name(entries, noun, name, where);
}

}  // namespace

std::string name_key(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c == '_' || c == ' ') {
      key += '-';
    } else {
      key += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return key;
}

Result<const Device*> find_device(const Catalog& catalog, std::string_view name, std::string_view where) {
  return find_named(catalog.devices, "GPU", name, where);
}
Result<const Fabric*> find_fabric(const Catalog& catalog, std::string_view name, std::string_view where) {
  return find_named(catalog.fabrics, "fabric", name, where);
}
Result<const Framework*> find_framework(const Catalog& catalog, std::string_view name,
                                        std::string_view where) {
  return find_named(catalog.frameworks, "framework", name, where);
}
Result<const Timing*> find_timing(const Catalog& catalog, std::string_view name, std::string_view where) {
  return find_named(catalog.timings, "timing", name, where);
}
Result<const ServingMemory*> find_serving_memory(const Catalog& catalog, std::string_view engine,
                                                 std::string_view where) {
  return find_named(catalog.serving_memories, "serving engine", engine, where);
}
Result<const ServingTime*> find_serving_time(const Catalog& catalog, std::string_view engine,
                                             std::string_view where) {
  return find_named(catalog.serving_times, "serving engine", engine, where);
}
Result<const ClusterPreset*> find_cluster(const Catalog& catalog, std::string_view name,
                                          std::string_view where) {
  return find_named(catalog.clusters, "cluster", name, where);
}
Result<const ModelEntry*> find_model(const Catalog& catalog, std::string_view name, std::string_view where) {
  return find_named(catalog.models, "model", name, where);
}

Result<Model> ModelEntry::model() const {
  Result<Model> read = import_hf_config(config, "catalog model " + name);
  if (!read) return read;
  read.value().name = name;
  read.value().source = source;
  return read;
}

std::string catalog_digest(std::span<const EmbeddedFile> files) {
  // FNV-1a, 64 bits; a zero byte ends each name and text.
  constexpr std::uint64_t kOffset = 14695981039346656037ULL, kPrime = 1099511628211ULL;
  std::vector<const EmbeddedFile*> sorted;
  for (const EmbeddedFile& f : files) sorted.push_back(&f);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return std::string_view(a->name) < b->name; });
  std::uint64_t hash = kOffset;
  const auto add = [&](const char* text) {
    do {
      hash = (hash ^ static_cast<unsigned char>(*text)) * kPrime;
    } while (*text++ != '\0');
  };
  for (const EmbeddedFile* f : sorted) {
    add(f->name);
    add(f->text);
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(hash >> shift) & 15U];
  return digits;
}

}  // namespace shardplan
