#include "estimate/formulas.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>

namespace shardplan {
namespace {

TEST(Formulas, WorkedExamplesHold) {
  int checked = 0;
  AllFormulas::for_each([&]<class F>() {
    for (const auto& example : F::examples) {
      const double got = value_of(call<F>(example.in));
      const double scale = std::fabs(example.expected) > 0 ? std::fabs(example.expected) : 1.0;
      EXPECT_LE(std::fabs(got - example.expected) / scale, example.relative_tolerance)
          << F::info.id << ": got " << got << ", expected " << example.expected << " (" << example.from
          << ")";
      ++checked;
    }
  });
  EXPECT_GE(checked, static_cast<int>(AllFormulas::size));
}

TEST(Formulas, IdsAreUnique) {
  std::set<std::string_view> ids;
  AllFormulas::for_each([&]<class F>() { EXPECT_TRUE(ids.insert(F::info.id).second) << F::info.id; });
}

template <class F>
void expect_same_bits(std::mt19937_64& random) {
  std::lognormal_distribution<double> draw(2.0, 3.0);
  typename F::template In<double> plain_in{};
  typename F::template In<Traced> traced_in{};
  auto plain_fields = detail::fields(plain_in);
  auto traced_fields = detail::fields(traced_in);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (..., [&] {
      auto& p = std::get<I>(plain_fields);
      auto& t = std::get<I>(traced_fields);
      p = std::remove_reference_t<decltype(p)>(draw(random));
      t = leaf<Traced>("x", p, "random");
    }());
  }
  (std::make_index_sequence<std::tuple_size_v<decltype(plain_fields)>>{});
  const double a = value_of(call<F>(plain_in)), b = value_of(call<F>(traced_in));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b))
      << F::info.id << ": " << a << " " << b;
}

TEST(Formulas, TracedEqualsDoubleBitForBit) {
  std::mt19937_64 random(20220510);
  AllFormulas::for_each([&]<class F>() {
    for (int i = 0; i < 200; ++i) expect_same_bits<F>(random);
  });
}

TEST(Formulas, TracedResultCarriesTheFormula) {
  const auto t = call<RingAllReduceLatency>(RingAllReduceLatency::In<Traced>{
      leaf<Traced>("ranks", 64, "plan"), leaf<Traced>("latency", microseconds(15), "flag")});
  const TraceNode& node = t.raw().node();
  EXPECT_EQ(node.op, TraceOp::kFormula);
  EXPECT_EQ(node.formula, &RingAllReduceLatency::info);
  EXPECT_EQ(node.unit.second, 1);
}

}  // namespace
}  // namespace shardplan
