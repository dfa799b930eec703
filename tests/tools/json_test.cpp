// SPDX-License-Identifier: Apache-2.0
#include "tools/json.h"

#include <cmath>

#include <gtest/gtest.h>

namespace quern::tools {
namespace {

TEST(Json, WritesAndReadsBack) {
  Json j;
  j["text"] = "a \"quoted\" \\ \n line, \xc3\xa9";
  j["number"] = 0.1;
  j["count"] = std::int64_t{1} << 60;
  j["yes"] = true;
  j["none"] = Json();
  j["list"].push(1);
  j["list"].push("two");
  j["nested"]["empty"] = Json::array();
  const auto back = parse_json(j.dump());
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(back->find("text")->text(), "a \"quoted\" \\ \n line, \xc3\xa9");
  EXPECT_EQ(back->find("number")->number(), 0.1);
  EXPECT_EQ(std::get<std::int64_t>(back->find("count")->value()), std::int64_t{1} << 60);
  EXPECT_EQ(back->find("list")->items().size(), 2U);
  EXPECT_TRUE(back->find("none")->is_null());
  EXPECT_TRUE(back->find("nested")->find("empty")->items().empty());
}

TEST(Json, KeepsTheOrderOfMembers) {
  Json j;
  j["z"] = 1;
  j["a"] = 2;
  EXPECT_LT(j.dump().find("\"z\""), j.dump().find("\"a\""));
}

TEST(Json, SurvivesWhatIsNoTextOrNumber) {
  Json j;
  j["broken"] = std::string("\xff\xfe");
  j["nan"] = std::nan("");
  const auto back = parse_json(j.dump());
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_TRUE(back->find("nan")->is_null());
}

TEST(Json, RefusesBrokenAndDeep) {
  EXPECT_FALSE(parse_json("{"));
  EXPECT_FALSE(parse_json(""));
  EXPECT_FALSE(parse_json(std::string(100000, '[')));
  EXPECT_FALSE(parse_json(std::string(100, '[') + std::string(100, ']')));
  EXPECT_TRUE(parse_json(std::string(50, '[') + std::string(50, ']')));
}

TEST(Json, MissingMembersAreHarmless) {
  const Json j = 3;
  EXPECT_EQ(j.find("a"), nullptr);
  EXPECT_TRUE(j.items().empty());
  EXPECT_EQ(j.text(), "");
}

}  // namespace
}  // namespace quern::tools
