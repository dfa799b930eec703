// SPDX-License-Identifier: Apache-2.0
#include "tools/levers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::tools {
namespace {

TEST(Levers, TextIsReadBack) {
  for (const char* text :
       {"default", "onednn=off", "cuts=small,stripes=40", "cuts=small,memory=nan",
        "stripes=off,cache=4096", "simd=avx2,onednn=off,threads=2", "simd=dotprod", "simd=avx512",
        "scratch=off,order=off,alias=off,optimize=off,strategy=none"}) {
    const auto levers = parse_levers(text);
    ASSERT_TRUE(levers) << levers.error().message();
    EXPECT_EQ(levers->text(), text);
  }
}

TEST(Levers, SayWhatTheyTurn) {
  const auto levers = parse_levers("alias=off,threads=3,strategy=none");
  ASSERT_TRUE(levers);
  const CompileOptions o = levers->options();
  EXPECT_FALSE(o.alias);
  EXPECT_TRUE(o.order);
  EXPECT_TRUE(o.scratch);
  EXPECT_TRUE(o.optimize);
  EXPECT_EQ(o.threads, 3);
  EXPECT_EQ(o.strategy, "none");
}

TEST(Levers, ErrorsNameWhatThereIs) {
  for (const char* text : {"warp=on", "order", "order=maybe", "threads=0", "threads=x",
                           "simd=avx1024", "simd=", "stripes=101", "cache=0", "memory=zero"}) {
    const auto levers = parse_levers(text);
    ASSERT_FALSE(levers) << text;
    EXPECT_CONTAINS(std::string(levers.error().message()), "lever");
  }
}

}  // namespace
}  // namespace quern::tools
