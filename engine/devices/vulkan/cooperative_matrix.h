// SPDX-License-Identifier: Apache-2.0
// VK_KHR_cooperative_matrix and what our pipelines with it need besides, with its declarations for
// headers that are older.
#pragma once

#include <span>

#include "engine/devices/vulkan/api.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

// The features to ask a device for or to ask whether it has: a chain of structs with its head in
// `next`. Stays where it is.
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
// That stand behind these features.
std::span<const char* const> matrix_extensions();

// The matrices of f16 with sums in f32 that a device multiplies by a subgroup, the largest of those
// that it lists; none unless it has all the features.
MatrixUnit read_matrices(const InstanceApi& api, VkPhysicalDevice device);

}  // namespace quern::vulkan
