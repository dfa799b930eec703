// SPDX-License-Identifier: Apache-2.0
// Packed weights and code that kernels of one executable share.
#include "engine/devices/cpu/weights.h"

#include <memory>
#include <string>

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

}  // namespace
}  // namespace quern
