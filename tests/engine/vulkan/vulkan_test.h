// SPDX-License-Identifier: Apache-2.0
// The tests of the Vulkan device share these helpers.
#pragma once

#include <string>
#include <vector>

#include "tests/engine/every_device.h"

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

}  // namespace quern::testing
