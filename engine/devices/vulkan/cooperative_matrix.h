// SPDX-License-Identifier: Apache-2.0
// VK_KHR_cooperative_matrix and the other features that our pipelines with it need.
#pragma once

#include <span>

#include "engine/devices/vulkan/api.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

// The features to query or enable on a device: a pNext chain that begins at chain(). Not movable.
class MatrixFeatures {
 public:
  explicit MatrixFeatures(VkBool32 wanted);
  MatrixFeatures(const MatrixFeatures&) = delete;
  MatrixFeatures& operator=(const MatrixFeatures&) = delete;

  void* chain() { return &matrices_; }
  void end_with(void* next) { subgroups_.pNext = next; }
  bool are_all_there() const;

 private:
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrices_{};
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model_{};
  VkPhysicalDeviceShaderFloat16Int8Features halves_{};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroups_{};
};
// The extensions that provide these features.
std::span<const char* const> matrix_extensions();

// Returns the largest f16 matrices with f32 sums that the device lists for multiplication by a
// subgroup; none unless the device has all the features.
MatrixUnit read_matrices(const InstanceApi& api, VkPhysicalDevice device);

}  // namespace quern::vulkan
