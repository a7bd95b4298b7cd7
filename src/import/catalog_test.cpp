#include "import/catalog.h"

#include <gtest/gtest.h>

#include "import/test_catalog.h"

namespace shardplan {
namespace {

Error load_error(const CatalogTexts& texts) {
  const auto files = as_files(texts);
  const Result<Catalog> loaded = load_catalog(files);
  if (loaded) return {};
  return loaded.error();
}

/// The test catalog with one text changed in one place.
CatalogTexts changed(const char* file, const std::string& from, const std::string& to) {
  CatalogTexts texts = test_catalog_texts();
  std::string& text = texts[file];
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return texts;
}

TEST(Catalog, LoadsNumbersWithTheirSource) {
  const Error error = load_error(test_catalog_texts());
  ASSERT_EQ(error.code, "") << error.where << ": " << error.message;
  const Device& h100 = test_catalog().devices[0];
  EXPECT_EQ(h100.memory_reported.value, bytes(85018877624.0));
  EXPECT_EQ(h100.memory_reported.label(), "Sheet (datasheet)");
  EXPECT_EQ(h100.scale_up.domain_size.value, ratio(8));
  EXPECT_FALSE(h100.peak[static_cast<std::size_t>(Precision::kFp8)]);
  EXPECT_EQ(test_catalog().fabrics[0].efficiency.source.note, "n");
  EXPECT_FALSE(test_catalog().frameworks[1].zero[3].allowed);
  EXPECT_TRUE(test_catalog().frameworks[0].zero[2].gradients);
  EXPECT_FALSE(test_catalog().frameworks[0].zero[2].weights);
}

TEST(Catalog, FindsByNameAndAliasWhateverTheSpelling) {
  for (const char* spelling : {"h100-sxm", "H100-SXM", "h100_sxm", "H100 SXM", "H100", "h100_sxm_80gb"}) {
    const auto device = find_device(test_catalog(), spelling, "--gpu");
    ASSERT_TRUE(device) << spelling;
    EXPECT_EQ((*device)->name, "h100-sxm");
  }
  EXPECT_TRUE(find_fabric(test_catalog(), "ndr", "--fabric"));
  EXPECT_TRUE(find_cluster(test_catalog(), "THREE_TIER", "--cluster"));
  EXPECT_TRUE(find_framework(test_catalog(), "Generic", "--framework"));
  EXPECT_TRUE(find_model(test_catalog(), "meta-llama/llama-3.1-8b", "--model"));
}

TEST(Catalog, UnknownNameTellsTheNearest) {
  const auto device = find_device(test_catalog(), "h100-sxn", "--gpu");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, "unknown_name");
  EXPECT_EQ(device.error().where, "--gpu");
  EXPECT_EQ(device.error().nearest, "h100-sxm");
  EXPECT_NE(device.error().message.find("h100-sxn"), std::string::npos);
  EXPECT_NE(device.error().expected.find("gb200"), std::string::npos);
}

TEST(Catalog, ReadsAModelWhenAsked) {
  const auto entry = find_model(test_catalog(), "llama3-8b", "--model");
  ASSERT_TRUE(entry);
  const Result<Model> model = (*entry)->model();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->name, "llama3-8b");
  EXPECT_EQ(model->hidden, 4096);
  EXPECT_EQ(model->source.title, "t");
  EXPECT_EQ(model->source.id, "llama3-8b");
}

TEST(Catalog, EveryNumberNeedsAKnownSource) {
  Error e = load_error(changed("fabrics", R"({"value":50e9,"source":"sheet"})", "50e9"));
  EXPECT_EQ(e.code, "missing_source");
  EXPECT_EQ(e.where, "catalog fabrics: fabrics[0].bandwidth_bytes_per_s");
  e = load_error(changed("fabrics", R"({"value":50e9,"source":"sheet"})", R"({"value":50e9})"));
  EXPECT_EQ(e.code, "missing_field");
  e = load_error(
      changed("devices", R"({"value":3e12,"source":"sheet"})", R"({"value":3e12,"source":"shet"})"));
  EXPECT_EQ(e.code, "unknown_source");
  EXPECT_EQ(e.where, "catalog devices: devices[0].memory_bandwidth_bytes_per_s.source");
  EXPECT_EQ(e.nearest, "sheet");
  e = load_error(changed("clusters", R"({"value":4,"source":"sheet"})", "4"));
  EXPECT_EQ(e.where, "catalog clusters: clusters[1].tiers[2].oversubscription");
}

TEST(Catalog, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(load_error(changed("fabrics", "efficiency", "eficiency")).nearest, "efficiency");
  EXPECT_EQ(load_error(changed("sources", "datasheet", "rumour")).code, "unknown_name");
  EXPECT_EQ(load_error(changed("devices", R"("bf16":)", R"("bf61":)")).code, "unknown_name");
  EXPECT_EQ(load_error(changed("devices", R"("kind":"switch")", R"("kind":"ring")")).code, "unknown_name");
  EXPECT_EQ(load_error(changed("devices", "ib-ndr-400", "ib-ndr-401")).nearest, "ib-ndr-400");
  EXPECT_EQ(load_error(changed("clusters", "course-192gb", "course-19gb")).nearest, "course-192gb");
  EXPECT_EQ(load_error(changed("clusters", "course-ib", "course-bi")).code, "unknown_name");
  EXPECT_EQ(load_error(changed("frameworks", "[0,1,2,3]", "[0,1,2,4]")).code, "out_of_range");
  EXPECT_EQ(load_error(changed("frameworks", R"("1":["optimizer"])", R"("9":["optimizer"])")).code,
            "out_of_range");
  EXPECT_EQ(load_error(changed("fabrics", "0.8", "1.8")).code, "out_of_range");
  EXPECT_EQ(load_error(changed("models", R"("kind":"published")", R"("kind":"heard")")).code, "unknown_name");
}

CatalogTexts with_timing() {
  CatalogTexts texts = test_catalog_texts();
  texts["timing"] = R"({"kernels":{"all":{"wave_share":{"value":0.5,"source":"fit"},
    "collective_s":{"value":1e-5,"source":"fit"}},"by_architecture":[
    {"architectures":["a"],"collective_s":{"value":2e-5,"source":"fit"}}]},"frameworks":[
    {"name":"old","framework":"nanotron","description":"d","step_s":{"value":0.5,"source":"fit"}},
    {"name":"new","framework":"nanotron","description":"d","usual":true,"step_s":{"value":0.1,"source":"fit"}}]})";
  return texts;
}

TEST(Catalog, TimingIsOfArchitecturesAndOfFrameworks) {
  const CatalogTexts texts = with_timing();
  const auto files = as_files(texts);
  const Result<Catalog> c = load_catalog(files);
  ASSERT_TRUE(c) << c.error().where << ": " << c.error().message;
  EXPECT_EQ(c->devices[0].law.wave_share.value, ratio(0.5)) << "of all";
  EXPECT_EQ(c->devices[0].law.collective.value, seconds(2e-5)) << "the architecture's own";
  EXPECT_EQ(c->frameworks[1].timing.step.value, seconds(0.1)) << "the usual release's";
  EXPECT_EQ(c->frameworks[0].timing.step.value, seconds(0)) << "neutral where nothing is known";
  const auto old = find_timing(*c, "old", "timing");
  ASSERT_TRUE(old);
  EXPECT_EQ((*old)->step.value, seconds(0.5));
}

TEST(Catalog, TimingRefusesWhatItDoesNotKnow) {
  const auto error = [](const std::string& from, const std::string& to) {
    CatalogTexts texts = with_timing();
    std::string& text = texts["timing"];
    text.replace(text.find(from), from.size(), to);
    return load_error(texts);
  };
  EXPECT_EQ(error("wave_share", "wave_shore").nearest, "wave_share");
  EXPECT_EQ(error("step_s", "stap_s").nearest, "step_s");
  EXPECT_EQ(error("\"nanotron\"", "\"nonotron\"").code, "unknown_name");
  EXPECT_EQ(error("\"fit\"", "\"fat\"").code, "unknown_source");
}

TEST(Catalog, OneNameMeansOneThing) {
  const Error e = load_error(changed("devices", "GB200-NVL72", "h100_SXM"));
  EXPECT_EQ(e.code, "duplicate_name");
  EXPECT_NE(e.message.find("gb200"), std::string::npos);
}

TEST(Catalog, MissingFileAndBadJson) {
  CatalogTexts texts = test_catalog_texts();
  texts.erase("models");
  EXPECT_EQ(load_error(texts).code, "missing_file");
  texts = test_catalog_texts();
  texts["devices"] = "{";
  EXPECT_NE(load_error(texts).code, "");
}

TEST(Catalog, DigestIsStableAndSeesEveryChange) {
  EXPECT_EQ(catalog_digest({}), "cbf29ce484222325");
  const std::vector<EmbeddedFile> ab{{"a", "1"}, {"b", "2"}}, ba{{"b", "2"}, {"a", "1"}},
      other{{"a", "12"}, {"b", ""}};
  EXPECT_EQ(catalog_digest(ab), catalog_digest(ba));
  EXPECT_NE(catalog_digest(ab), catalog_digest(other));
  EXPECT_EQ(catalog_digest(ab).size(), 16U);
}

}  // namespace
}  // namespace shardplan
