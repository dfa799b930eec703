// SPDX-License-Identifier: Apache-2.0
#include "shaders/to_khr.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern::shaders {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::uint32_t>;

Words instruction(std::uint32_t op, Words operands) {
  operands.insert(operands.begin(), static_cast<std::uint32_t>(operands.size() + 1) << 16 | op);
  return operands;
}
Words text(std::uint32_t op, std::string_view s) {
  Words words(s.size() / 4 + 1, 0);
  std::memcpy(words.data(), s.data(), s.size());
  return instruction(op, words);
}
Words module_of(const std::vector<Words>& instructions) {
  Words module = {0x07230203, 0x00010300, 0, 40, 0};
  for (const Words& i : instructions) module.insert(module.end(), i.begin(), i.end());
  return module;
}
// Those of one opcode, without their first word.
std::vector<Words> all_of(std::uint32_t op, const Words& module) {
  std::vector<Words> found;
  for (std::size_t at = 5; at < module.size(); at += module[at] >> 16) {
    const auto begin = module.begin() + static_cast<std::ptrdiff_t>(at);
    if ((module[at] & 0xffff) == op) found.emplace_back(begin + 1, begin + (module[at] >> 16));
  }
  return found;
}

// Ids: 1 uint, 2 float, 3 half, 4 bool, 5 true, 6 false, 7 scope, 8.. sizes, 11 sums, 12 left,
// 13 right; a product of two loaded matrices and its sum, stored by columns.
std::vector<Words> example() {
  return {instruction(17, {1}),
          instruction(17, {5357}),
          text(10, "SPV_NV_cooperative_matrix"),
          text(10, "SPV_KHR_vulkan_memory_model"),
          instruction(5, {11, 0x61}),  // a name
          instruction(21, {1, 32, 0}),
          instruction(22, {2, 32}),
          instruction(22, {3, 16}),
          instruction(20, {4}),
          instruction(41, {4, 5}),
          instruction(42, {4, 6}),
          instruction(43, {1, 7, 3}),
          instruction(50, {1, 8, 16}),
          instruction(50, {1, 9, 16}),
          instruction(50, {1, 10, 16}),
          instruction(5358, {11, 2, 7, 8, 9}),
          instruction(5358, {12, 3, 7, 8, 10}),
          instruction(5358, {13, 3, 7, 10, 9}),
          instruction(5359, {12, 21, 30, 31, 6, 0x20, 7}),
          instruction(5359, {13, 22, 30, 31, 5}),
          instruction(61, {11, 23, 32}),
          instruction(5361, {11, 24, 21, 22, 23}),
          instruction(5360, {33, 24, 31, 5}),
          instruction(5362, {1, 25, 11})};
}

TEST(ToKhr, RewritesEveryInstructionAndNothingElse) {
  const Words before = module_of(example());
  const Rewritten result = to_khr(before);
  ASSERT_EQ(result.error, "");
  const Words& m = result.words;
  // Zero, one and two are new.
  EXPECT_EQ(m[3], 43U);
  EXPECT_THAT(all_of(43, m),
              ElementsAre(Words{1, 7, 3}, Words{1, 40, 0}, Words{1, 41, 1}, Words{1, 42, 2}));
  EXPECT_THAT(all_of(17, m), ElementsAre(Words{1}, Words{6022}));
  EXPECT_EQ(all_of(10, m).size(), 2U);
  EXPECT_EQ(std::memcmp(all_of(10, m)[0].data(), "SPV_KHR_cooperative_matrix\0\0", 28), 0);
  EXPECT_EQ(all_of(10, m)[1], all_of(10, before)[1]);
  EXPECT_THAT(all_of(4456, m), ElementsAre(Words{11, 2, 7, 8, 9, 42}, Words{12, 3, 7, 8, 10, 40},
                                           Words{13, 3, 7, 10, 9, 41}));
  EXPECT_THAT(all_of(4457, m),
              ElementsAre(Words{12, 21, 30, 40, 31, 0x20, 7}, Words{13, 22, 30, 41, 31}));
  EXPECT_THAT(all_of(4458, m), ElementsAre(Words{33, 24, 41, 31}));
  EXPECT_THAT(all_of(4459, m), ElementsAre(Words{11, 24, 21, 22, 23}));
  EXPECT_THAT(all_of(4460, m), ElementsAre(Words{1, 25, 11}));
  for (std::uint32_t op = 5357; op <= 5362; ++op) EXPECT_TRUE(all_of(op, m).empty());
  for (const std::uint32_t op : {5U, 21U, 22U, 20U, 41U, 42U, 50U, 61U})
    EXPECT_EQ(all_of(op, m), all_of(op, before));
}

std::string error_of(const Words& module) {
  const Rewritten result = to_khr(module);
  EXPECT_TRUE(result.error.empty() == !result.words.empty());
  return result.error;
}

TEST(ToKhr, RefusesWhatItDoesNotKnow) {
  EXPECT_CONTAINS(error_of({}), "no SPIR-V");
  EXPECT_CONTAINS(error_of({0x03022307, 0, 0, 1, 0}), "byte order");
  EXPECT_CONTAINS(error_of(module_of({instruction(17, {1})})), "no matrices");
  EXPECT_CONTAINS(error_of(module_of({{7U << 16 | 17, 1}})), "longer than the module");
  EXPECT_CONTAINS(error_of(module_of({{17}})), "longer than the module");

  const auto with = [](std::size_t at, const Words& other) {
    auto all = example();
    all[at] = other;
    return module_of(all);
  };
  EXPECT_CONTAINS(error_of(with(15, instruction(5358, {11, 1, 7, 8, 9}))), "not of floats");
  EXPECT_CONTAINS(error_of(with(17, instruction(5358, {13, 3}))), "lacks operands");
  EXPECT_CONTAINS(error_of(with(19, instruction(5359, {12, 22, 30, 31, 5}))),
                  "two places of products");
  EXPECT_CONTAINS(error_of(with(19, instruction(5359, {13, 22, 30, 31, 9}))), "no constant");
  EXPECT_CONTAINS(error_of(with(21, instruction(1, {11, 24}))), "in no product");
  EXPECT_CONTAINS(error_of(with(20, instruction(61, {2, 23, 32}))), "no matrix");
  EXPECT_CONTAINS(error_of(with(5, instruction(21, {1, 32, 1}))), "unsigned");
}

}  // namespace
}  // namespace quern::shaders
