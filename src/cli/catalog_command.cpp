// `shardplan catalog KIND [NAME]`: what is known, with sources.
#include <functional>
#include <memory>

#include "cli/commands.h"

namespace shardplan::cli {
namespace {

using Entries = std::vector<CatalogEntry>;

/// One section of the catalog: all of it, or the one of a name.
struct Kind {
  std::string name;
  std::vector<std::string> columns;
  std::function<Result<Entries>()> all;
  std::function<Result<CatalogEntry>(const std::string&)> one;
};

constexpr const char* kWhere = "catalog";

Result<CatalogEntry> cluster_entry(const ClusterPreset& preset) {
  const Result<Cluster> cluster = preset_cluster(catalog(), preset);
  if (!cluster) return cluster.error();
  CatalogEntry entry = catalog_entry(*cluster);
  entry.description = preset.description;
  entry.aliases = preset.aliases;
  return entry;
}

Result<CatalogEntry> model_entry(const ModelEntry& known) {
  const Result<Model> model = known.model();
  if (!model) return model.error();
  CatalogEntry entry = catalog_entry(*model);
  entry.aliases = known.aliases;
  return entry;
}

template <class Thing>
Result<CatalogEntry> plain_entry(const Thing& thing) {
  return catalog_entry(thing);
}

template <class Thing>
Kind kind_of(std::string name, std::vector<std::string> columns, const std::vector<Thing>& things,
             Result<CatalogEntry> (*entry)(const Thing&),
             Result<const Thing*> (*find)(const Catalog&, std::string_view, std::string_view)) {
  Kind kind{std::move(name), std::move(columns), {}, {}};
  kind.all = [&things, entry]() -> Result<Entries> {
    Entries entries;
    for (const Thing& thing : things) {
      Result<CatalogEntry> made = entry(thing);
      if (!made) return made.error();
      entries.push_back(std::move(made).value());
    }
    return entries;
  };
  kind.one = [entry, find](const std::string& wanted) -> Result<CatalogEntry> {
    const Result<const Thing*> thing = find(catalog(), wanted, kWhere);
    if (!thing) return thing.error();
    return entry(**thing);
  };
  return kind;
}

std::vector<Kind> kinds() {
  const Catalog& c = catalog();
  return {kind_of<ModelEntry>("models", model_columns(), c.models, model_entry, find_model),
          kind_of<Device>("gpus", device_columns(), c.devices, plain_entry<Device>, find_device),
          kind_of<Fabric>("fabrics", fabric_columns(), c.fabrics, plain_entry<Fabric>, find_fabric),
          kind_of<ClusterPreset>("clusters", cluster_columns(), c.clusters, cluster_entry, find_cluster),
          kind_of<Framework>("frameworks", framework_columns(), c.frameworks, plain_entry<Framework>,
                             find_framework),
          kind_of<Timing>("timings", timing_columns(), c.timings, plain_entry<Timing>, find_timing)};
}

int show(const Kind& kind, const std::string& name, const Output& output) {
  const Json digest{{"catalog_digest", catalog().digest}};
  if (!name.empty()) {
    const Result<CatalogEntry> entry = kind.one(name);
    if (!entry) return output.error(entry.error());
    Json json = catalog_entry_json(*entry);
    json.update(digest);
    return output.answer(catalog_entry_text(*entry), json);
  }
  const Result<Entries> entries = kind.all();
  if (!entries) return output.error(entries.error());
  Json json{{kind.name, Json::array()}};
  for (const CatalogEntry& entry : *entries) json[kind.name].push_back(catalog_entry_json(entry));
  json.update(digest);
  return output.answer(catalog_table(*entries, kind.columns), json);
}

int run(const std::string& wanted, const std::string& name, const Output& output) {
  std::vector<std::string> names;
  std::string list;
  for (const Kind& kind : kinds()) {
    if (kind.name == wanted) return show(kind, name, output);
    names.push_back(kind.name);
    list += (list.empty() ? "one of " : ", ") + kind.name;
  }
  return output.error(unknown_name("section", wanted, "catalog", names, list));
}

}  // namespace

void add_catalog_command(CLI::App& app, Program& program) {
  auto kind = std::make_shared<std::string>(), name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "catalog", "what is known of models, gpus, fabrics, clusters, frameworks and their timings");
  command->add_option("KIND", *kind, "models, gpus, fabrics, clusters, frameworks or timings")
      ->required()
      ->type_name("");
  command->add_option("NAME", *name, "one entry in full, each number with its source")->type_name("");
  add_json_flag(*command, program);
  command->callback([kind, name, &program] { program.status = run(*kind, *name, program.output); });
}

}  // namespace shardplan::cli
