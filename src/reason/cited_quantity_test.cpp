#include "reason/cited_quantity.h"

#include <gmock/gmock.h>

namespace shardplan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

MATCHER_P2(Is, value, unit, "") {
  return arg.unit == unit && std::abs(arg.value - value) <= 1e-9 * std::abs(value);
}

TEST(CitedQuantity, ReadsUnitsOfTheField) {
  EXPECT_THAT(cited_quantities("2 GiB, 3GB"), ElementsAre(Is(2147483648.0, "bytes"), Is(3e9, "bytes")));
  EXPECT_THAT(cited_quantities("1.5 PB or 2PiB"), ElementsAre(Is(1.5e15, "bytes"), Is(0x1p51, "bytes")));
  EXPECT_THAT(cited_quantities("67.8 GB/s against 400Gbit/s"),
              ElementsAre(Is(67.8e9, "bytes/s"), Is(50e9, "bytes/s")));
  EXPECT_THAT(cited_quantities("71.1 us, 71.1 µs; 13.7 ms."),
              ElementsAre(Is(71.1e-6, "s"), Is(71.1e-6, "s"), Is(0.0137, "s")));
  EXPECT_THAT(cited_quantities("62.5 % of 64 GPUs"), ElementsAre(Is(0.625, "ratio"), Is(64.0, "GPUs")));
  EXPECT_THAT(cited_quantities("262,144 tokens"), ElementsAre(Is(262144.0, "tokens")));
}

TEST(CitedQuantity, BareNumbersAndNamesAreNone) {
  EXPECT_THAT(cited_quantities("it is 15"), IsEmpty());
  EXPECT_THAT(cited_quantities("bf16 on H100 GB"), IsEmpty());
  EXPECT_THAT(cited_quantities("by tradition, inside a node"), IsEmpty());
  EXPECT_THAT(cited_quantities(""), IsEmpty());
}

TEST(CitedQuantity, HostileTextIsRead) {
  EXPECT_THAT(cited_quantities(std::string(100000, '9')), IsEmpty());
  EXPECT_THAT(cited_quantities("1e999 GiB 9.9.9 ms 1,,2 s \xff\xfe 3\xff"), testing::_);
  EXPECT_THAT(cited_quantities("///%%% 5 /// 6 %"), ElementsAre(Is(0.06, "ratio")));
}

}  // namespace
}  // namespace shardplan
