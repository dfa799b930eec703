// SPDX-License-Identifier: Apache-2.0
// What tests of the Vulkan device share.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/engine/engine_test.h"

namespace quern::testing {

// The device's name with validation where the layer is installed; "" where there is no Vulkan.
inline const std::string& device_name() {
  static const std::string name = [] {
    if (open_device("vulkan,validate")) return "vulkan,validate";
    return open_device("vulkan") ? "vulkan" : "";
  }();
  return name;
}

class VulkanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_name().empty())
      GTEST_SKIP() << "no Vulkan device: install mesa-vulkan-drivers for one in software";
  }
};

inline void expect_close(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                         DType dtype) {
  ASSERT_EQ(a.size(), b.size());
  if (dtype != DType::f32) {
    EXPECT_EQ(a, b);
    return;
  }
  for (std::size_t i = 0; i < a.size(); i += 4) {
    float x = 0, y = 0;
    std::memcpy(&x, a.data() + i, 4);
    std::memcpy(&y, b.data() + i, 4);
    ASSERT_NEAR(x, y, 1e-5F + 2e-5F * std::abs(y)) << "element " << i / 4;
  }
}

}  // namespace quern::testing
