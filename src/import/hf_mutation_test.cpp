// Whatever is cut off or flipped in a config, the answer is a model or an error with a place. The same
// mutations on every machine.
#include <gtest/gtest.h>

#include <cstdint>

#include "catalog/parameters.h"
#include "import/catalog.h"
#include "import/hf_config.h"

namespace shardplan {
namespace {

/// xorshift64*; the standard's distributions differ between libraries.
class Generator {
 public:
  std::size_t below(std::size_t limit) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::size_t>((state_ * 2685821657736338717ULL) >> 33) % limit;
  }

 private:
  std::uint64_t state_ = 88172645463325252ULL;
};

/// True when it is a model.
bool holds(const std::string& text) {
  const auto model = import_hf_config(text, "config.json");
  if (!model) {
    EXPECT_FALSE(model.error().code.empty());
    EXPECT_FALSE(model.error().message.empty());
    EXPECT_TRUE(model.error().where.starts_with("config.json")) << model.error().where;
    return false;
  }
  const ParameterCount count = count_parameters(*model);
  EXPECT_GT(count.total, 0) << text;
  EXPECT_GE(count.total, count.active) << text;
  EXPECT_GE(count.active, count.active_without_embedding) << text;
  EXPECT_GE(count.active_without_embedding, 0) << text;
  EXPECT_FALSE(model->layers.empty()) << text;
  return true;
}

TEST(HfMutation, EveryTruncationIsAnError) {
  for (const ModelEntry& entry : catalog().models) {
    SCOPED_TRACE(entry.name);
    for (std::size_t size = 0; size < entry.config.size(); ++size)
      ASSERT_FALSE(holds(entry.config.substr(0, size))) << size;
    EXPECT_TRUE(holds(entry.config));
  }
}

TEST(HfMutation, FlippedBytes) {
  constexpr int kRuns = 300;
  Generator random;
  int models = 0, errors = 0;
  for (const ModelEntry& entry : catalog().models) {
    SCOPED_TRACE(entry.name);
    for (int run = 0; run < kRuns; ++run) {
      std::string text = entry.config;
      for (std::size_t flips = 1 + random.below(3); flips > 0; --flips)
        text[random.below(text.size())] ^= static_cast<char>(1U << random.below(8));
      ++(holds(text) ? models : errors);
    }
  }
  // Both happen, or the test tests nothing.
  EXPECT_GT(models, 1000);
  EXPECT_GT(errors, 1000);
}

TEST(HfMutation, ValuesOfTheWrongKind) {
  constexpr int kRuns = 200;
  const std::vector<std::string> values = {"null",
                                           "true",
                                           "-1",
                                           "0",
                                           "1",
                                           "3",
                                           "1e308",
                                           "9223372036854775807",
                                           "18446744073709551615",
                                           "[]",
                                           "{}",
                                           "Infinity",
                                           "\"texts\"",
                                           "[[]]",
                                           "[1,2]",
                                           "7.5",
                                           "\"\"",
                                           "[null]"};
  Generator random;
  int models = 0, errors = 0;
  for (const ModelEntry& entry : catalog().models) {
    SCOPED_TRACE(entry.name);
    for (int run = 0; run < kRuns; ++run) {
      std::string text = entry.config;
      const std::size_t from = text.find(':', random.below(text.size()));
      if (from == std::string::npos) continue;
      const std::size_t to = text.find_first_of(",}]", from);
      text.replace(from + 1, to - from - 1, values[random.below(values.size())]);
      ++(holds(text) ? models : errors);
    }
  }
  EXPECT_GT(models, 1000);
  EXPECT_GT(errors, 1000);
}

}  // namespace
}  // namespace shardplan
