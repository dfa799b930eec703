// SPDX-License-Identifier: Apache-2.0
#include "tools/parse.h"

#include <gtest/gtest.h>

namespace quern::tools {
namespace {

TEST(ParseShape, TakesBothSpellings) {
  EXPECT_EQ(*parse_shape("1x3x224x224"), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(*parse_shape("1,3,8"), (Shape{1, 3, 8}));
  EXPECT_EQ(*parse_shape("5"), (Shape{5}));
  EXPECT_EQ(*parse_shape("0x4"), (Shape{0, 4}));
  EXPECT_EQ(parse_shape("scalar")->rank(), 0U);
}

TEST(ParseShape, RefusesWithAnExample) {
  for (const char* text : {"x", "1x", "1xx2", "-1x2", "1x2y", "axb",
                           "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1", "9999999999x9999999999"}) {
    const auto shape = parse_shape(text);
    ASSERT_FALSE(shape) << text;
    EXPECT_NE(shape.error().message().find("1x3x224x224"), std::string::npos);
  }
}

TEST(ParseAssignment, CutsWhereAKnownNameEnds) {
  const std::vector<std::string> names = {"x", "a=b", "x:0"};
  EXPECT_EQ(parse_assignment("x=file.npy", names).name, "x");
  EXPECT_EQ(parse_assignment("a=b=c.npy", names).name, "a=b");
  EXPECT_EQ(parse_assignment("x=a=b.npy", names).value, "a=b.npy");
  EXPECT_EQ(parse_assignment("x:0=1x2", names).name, "x:0");
  EXPECT_EQ(parse_assignment("file.npy", names).name, "");
  EXPECT_EQ(parse_assignment("y=file.npy", names).value, "y=file.npy");
  EXPECT_EQ(parse_assignment("=", names).value, "=");
}

TEST(ParseNumbers, AreWholeAndFinite) {
  EXPECT_EQ(parse_number("-0.5"), -0.5);
  for (const char* text : {"", "1a", "inf", "nan", " 1"}) EXPECT_FALSE(parse_number(text)) << text;
  EXPECT_EQ(parse_numbers("1,2.5")->size(), 2U);
  EXPECT_FALSE(parse_numbers("1,b"));
}

TEST(Glob, Matches) {
  EXPECT_TRUE(matches_glob("test_conv_2d", "test_conv*"));
  EXPECT_TRUE(matches_glob("test_conv_2d", "*conv*"));
  EXPECT_TRUE(matches_glob("abc", "a?c"));
  EXPECT_TRUE(matches_glob("", "*"));
  EXPECT_TRUE(matches_glob("aab", "*ab"));
  EXPECT_FALSE(matches_glob("abc", "ab"));
  EXPECT_FALSE(matches_glob("abc", "b*"));
}

TEST(Parse, BytesWithTheirUnits) {
  EXPECT_EQ(parse_bytes("42"), 42U);
  EXPECT_EQ(parse_bytes("256MB"), 256'000'000U);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 3U << 29);
  EXPECT_EQ(parse_bytes("7B"), 7U);
  EXPECT_EQ(parse_bytes("0.5kB"), 500U);
  for (const char* text : {"", "MB", "-1", "1 XB", "1e30", "inf"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

}  // namespace
}  // namespace quern::tools
