// SPDX-License-Identifier: Apache-2.0
// The features and extensions that a device is opened with.
#pragma once

#include <span>
#include <vector>

#include "engine/devices/vulkan/capabilities.h"
#include "engine/devices/vulkan/cooperative_matrix.h"

namespace quern::vulkan {

// Everything that the capabilities have, and nothing else.
class DeviceFeatures {
 public:
  explicit DeviceFeatures(const Capabilities& c);
  DeviceFeatures(const DeviceFeatures&) = delete;
  DeviceFeatures& operator=(const DeviceFeatures&) = delete;

  // For VkDeviceCreateInfo::pNext; lives as long as this object.
  const void* chain() const { return &features_; }
  std::span<const char* const> extensions() const { return extensions_; }

 private:
  template <class Structure>
  void ask(const char* extension, Structure& structure);

  VkPhysicalDevice8BitStorageFeatures bits8_{};
  VkPhysicalDevice16BitStorageFeatures bits16_{};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline_{};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot_{};
  MatrixFeatures matrices_{VK_TRUE};
  VkPhysicalDeviceFeatures2 features_{};
  std::vector<const char*> extensions_;
};

}  // namespace quern::vulkan
