#include "report/comm_sweep_report.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "import/cluster_build.h"

namespace shardplan {
namespace {

CommSweep sweep_of(std::int64_t gpus) {
  CommQuestion q;
  q.cluster = usual_cluster(catalog(), **find_device(catalog(), "h100-sxm", ""), gpus, std::nullopt).value();
  q.ranks = {ratio(static_cast<double>(gpus)), {}};
  return sweep_comm(q, {kibibytes(1), mebibytes(64)});
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(CommSweepSvg, HasOneCurveAndAMarkForEachSwitch) {
  const CommSweep sweep = sweep_of(8);
  const std::string svg = comm_sweep_svg(sweep);
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_EQ(count_of(svg, "<polyline"), 1U);
  EXPECT_EQ(count_of(svg, "class=\"switch\""), sweep.switches.size());
  EXPECT_NE(svg.find("ring, LL"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(CommSweepSvg, OfOneRankIsEmpty) { EXPECT_EQ(count_of(comm_sweep_svg(sweep_of(1)), "<polyline"), 0U); }

}  // namespace
}  // namespace shardplan
