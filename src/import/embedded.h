// The catalog's json files as compiled into the program (tools/embed_catalog.cmake writes the definitions).
#pragma once

namespace shardplan {

struct EmbeddedFile {
  const char* name;  // "devices"
  const char* text;
};
extern const EmbeddedFile embedded_catalog[];
extern const int embedded_catalog_count;

}  // namespace shardplan
