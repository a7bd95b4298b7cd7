// Every threshold of the real questions (tests/golden/question_*.cmd): planned again on both sides, the
// answer is another one there and the same just before; of memory it is the first such size.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/flag_list.h"
#include "reason/answer.h"
#include "reason/threshold_inputs.h"

namespace shardplan {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const fs::path& case_file) {
  std::ifstream file(case_file);
  std::string line;
  do {
    std::getline(file, line);
  } while (file && line.starts_with('#'));
  std::istringstream read(line);
  std::vector<std::string> words;
  for (std::string word; read >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> planned_questions() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(SHARDPLAN_SOURCE_DIR "/tests/golden")) {
    const fs::path& path = entry.path();
    if (!path.stem().string().starts_with("question_") || path.extension() != ".cmd") continue;
    if (words_of(path).at(1) == "plan") names.push_back(path.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Question read_question(const std::string& name) {
  const auto words = words_of(fs::path(SHARDPLAN_SOURCE_DIR) / "tests/golden" / (name + ".cmd"));
  FlagList flags;
  for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
    const bool file = words[i + 1].starts_with("examples/");
    flags.emplace_back(words[i], (file ? SHARDPLAN_SOURCE_DIR "/" : "") + words[i + 1]);
  }
  auto question = question_from_flags(Purpose::kPlan, flags, catalog());
  EXPECT_TRUE(question) << name << ": " << question.error().message;
  return std::move(question).value();
}

class Replanned {
 public:
  Replanned(const Question& question, const Answer& answer) : question_(question), answer_(answer) {}

  /// How many thresholds were held against two more plans.
  int verify() {
    for (const Threshold& t : answer_.thresholds) {
      if (t.parameter == "hbm") {
        verify_memory(t);
      } else if (t.same_until) {
        verify_input(t);
      }
    }
    return verified_;
  }

 private:
  std::optional<Plan> plan_of(const Question& q) const {
    const auto best = fastest(Estimator(q), q.fixed).best;
    return best ? std::optional(best->plan) : std::nullopt;
  }

  bool same(const std::optional<Plan>& plan, bool layout_counts) const {
    const auto& best = answer_.result.best;
    if (plan.has_value() != best.has_value()) return false;
    return !layout_counts || !plan || same_degrees(*plan, best->plan);
  }

  void verify_memory(const Threshold& t) {
    const auto at = [&](double hbm) {
      Question q = question_;
      q.cluster.device.memory_reported.value = bytes(hbm);
      return plan_of(q);
    };
    ASSERT_TRUE(t.same_until);
    const auto there = at(t.threshold);
    EXPECT_FALSE(same(there, true)) << t.threshold;
    EXPECT_TRUE(same(at(*t.same_until), true)) << *t.same_until;
    EXPECT_LE(std::fabs(t.threshold - *t.same_until), gibibytes(0.01).raw() * (1 + 1e-9));
    if (there) {
      EXPECT_THAT(t.then, testing::HasSubstr(canonical(*there)));
    }
    // The first: nothing changes and changes back before it.
    constexpr int kBetween = 16;
    for (int i = 1; i < kBetween; ++i) {
      const double hbm = t.current * std::pow(*t.same_until / t.current, static_cast<double>(i) / kBetween);
      EXPECT_TRUE(same(at(hbm), true)) << hbm << " before " << t.threshold;
    }
    ++verified_;
  }

  void verify_input(const Threshold& t) {
    for (const ThresholdInput& input : threshold_inputs(question_, answer_.result)) {
      if (input.name != t.parameter) continue;
      EXPECT_EQ(t.current, input.current);
      const auto at = [&](double value) {
        Question q = question_;
        EXPECT_TRUE(input.set(q, value)) << input.name << " " << value;
        return plan_of(q);
      };
      const auto there = at(t.threshold);
      EXPECT_TRUE(same(at(*t.same_until), input.layout_counts)) << t.parameter << " " << *t.same_until;
      EXPECT_FALSE(same(there, input.layout_counts)) << t.parameter << " " << t.threshold;
      if (there) {
        EXPECT_THAT(t.then, testing::HasSubstr(canonical(*there))) << t.parameter;
      }
      expect_close(input, t);
      ++verified_;
    }
  }

  /// The two sides are neighbours.
  static void expect_close(const ThresholdInput& input, const Threshold& t) {
    if (!input.values.empty()) {
      const auto place = [&](double v) {
        const auto at = std::find(input.values.begin(), input.values.end(), v);
        EXPECT_NE(at, input.values.end()) << input.name << " " << v << " is no value that it can have";
        return at - input.values.begin();
      };
      EXPECT_EQ(std::abs(place(t.threshold) - place(*t.same_until)), 1) << t.parameter;
    } else if (input.step > 0) {
      EXPECT_LE(std::fabs(t.threshold - *t.same_until), input.step + 1e-9) << t.parameter;
    } else {
      EXPECT_LT(std::fabs(std::log(t.threshold / *t.same_until)), 0.003) << t.parameter;
    }
  }

  const Question& question_;
  const Answer& answer_;
  int verified_ = 0;
};

class RealQuestion : public testing::TestWithParam<std::string> {};

TEST_P(RealQuestion, ThresholdsTurnTheAnswerWherePlannedAgain) {
  const Question question = read_question(GetParam());
  const Answer a = answer(Estimator(question), question.fixed);
  EXPECT_GE(Replanned(question, a).verify(), 1) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Thresholds, RealQuestion, testing::ValuesIn(planned_questions()),
                         [](const auto& asked) { return asked.param; });

TEST(RealQuestions, AreTenAtTheLeast) { EXPECT_GE(planned_questions().size(), 10U); }

}  // namespace
}  // namespace shardplan
