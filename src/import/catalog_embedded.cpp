#include <cstdio>
#include <cstdlib>

#include "import/catalog.h"

namespace shardplan {
namespace {

Catalog load_embedded() {
  const std::span files(embedded_catalog, static_cast<std::size_t>(embedded_catalog_count));
  Result<Catalog> loaded = load_catalog(files);
  if (!loaded) {
    const Error& e = loaded.error();
    std::fprintf(stderr, "shardplan: the embedded catalog is wrong: %s: %s (expected %s)\n", e.where.c_str(),
                 e.message.c_str(), e.expected.c_str());
    std::abort();
  }
  return std::move(loaded).value();
}

}  // namespace

const Catalog& catalog() {
  static const Catalog loaded = load_embedded();
  return loaded;
}

}  // namespace shardplan
