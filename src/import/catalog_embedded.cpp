#include <cstdio>
#include <cstdlib>

#include "import/catalog.h"
#include "import/json_text.h"

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

Result<Catalog> read_catalog(const std::string& folder) {
  const std::span embedded(embedded_catalog, static_cast<std::size_t>(embedded_catalog_count));
  std::vector<std::string> texts;
  for (const EmbeddedFile& file : embedded) {
    Result<std::string> text = read_text_file(folder + "/" + file.name + ".json");
    if (!text) return text.error();
    texts.push_back(std::move(text).value());
  }
  std::vector<EmbeddedFile> files(embedded.begin(), embedded.end());
  for (std::size_t i = 0; i < files.size(); ++i) files[i].text = texts[i].c_str();
  return load_catalog(files);
}

const Catalog& catalog() {
  static const Catalog loaded = load_embedded();
  return loaded;
}

}  // namespace shardplan
