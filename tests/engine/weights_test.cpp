// SPDX-License-Identifier: Apache-2.0
// Packed weights and code that kernels of one executable share.
#include "engine/devices/cpu/weights.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace quern {
namespace {

// Code whose making is counted.
class CountedCode {
 public:
  std::shared_ptr<const void> find(const std::string& key) {
    return weights_.find_or_make_code(key, [&] {
      ++made_;
      return std::make_shared<const std::string>(key);
    });
  }
  int made() const { return made_; }
  cpu::SharedWeights& weights() { return weights_; }

 private:
  cpu::SharedWeights weights_;
  int made_ = 0;
};

TEST(SharedWeights, KeepTheLatestCodeUntilThePlanIsMade) {
  CountedCode code;
  code.find("a");
  code.find("a");
  EXPECT_EQ(code.made(), 1) << "nothing but the weights holds it";
  code.weights().forget_recent_code();
  EXPECT_EQ(code.weights().code_bytes(), 0U);
  code.find("a");
  EXPECT_EQ(code.made(), 2);
  for (int i = 0; i < 32; ++i) code.find("b" + std::to_string(i));
  code.find("a");
  EXPECT_EQ(code.made(), 35) << "32 stay";
}

TEST(SharedWeights, FindCodeThatAKernelHolds) {
  CountedCode code;
  const auto held = code.find("a");
  code.weights().forget_recent_code();
  EXPECT_EQ(code.find("a"), held);
  EXPECT_EQ(code.made(), 1);
  EXPECT_GT(code.weights().code_bytes(), 0U);
}

// Each has bytes of its own, zeroed, whether it shares pages with others or not.
TEST(SharedWeights, ThatAreMadeSideBySideDoNotOverlap) {
  cpu::SharedWeights weights;
  constexpr std::size_t count = 64;
  std::vector<std::shared_ptr<const std::byte>> all;
  std::size_t bytes = 0;
  const auto size = [](std::size_t i) { return (std::size_t{300} << 10) + 1000 * (i % 7) + i; };
  for (std::size_t i = 0; i < count; ++i) {
    auto made = weights.find_or_make(std::to_string(i), size(i), [&](std::byte* to) -> Status {
      EXPECT_TRUE(std::all_of(to, to + size(i), [](std::byte b) { return b == std::byte{0}; }));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to) % 64, 0U);
      std::fill_n(to, size(i), static_cast<std::byte>(i + 1));
      return {};
    });
    ASSERT_TRUE(made);
    all.push_back(*made);
    bytes += size(i);
  }
  EXPECT_EQ(weights.bytes(), bytes);
  for (std::size_t i = 0; i < count; ++i)
    EXPECT_TRUE(std::all_of(all[i].get(), all[i].get() + size(i),
                            [&](std::byte b) { return b == static_cast<std::byte>(i + 1); }));
  all.clear();
  EXPECT_EQ(weights.bytes(), 0U);
}

}  // namespace
}  // namespace quern
