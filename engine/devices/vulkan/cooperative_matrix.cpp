// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/cooperative_matrix.h"

#include <array>
#include <vector>

namespace quern::vulkan {

MatrixFeatures::MatrixFeatures(VkBool32 wanted) {
  matrices_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR,
               .pNext = &memory_model_,
               .cooperativeMatrix = wanted};
  memory_model_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
                   .pNext = &halves_,
                   .vulkanMemoryModel = wanted,
                   .vulkanMemoryModelDeviceScope = wanted};  // for atomics of all other shaders
  halves_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
             .pNext = &subgroups_,
             .shaderFloat16 = wanted};
  subgroups_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT,
                .subgroupSizeControl = wanted,
                .computeFullSubgroups = wanted};
}

bool MatrixFeatures::are_all_there() const {
  return matrices_.cooperativeMatrix && memory_model_.vulkanMemoryModel &&
         memory_model_.vulkanMemoryModelDeviceScope && halves_.shaderFloat16 &&
         subgroups_.subgroupSizeControl && subgroups_.computeFullSubgroups;
}

std::span<const char* const> matrix_extensions() {
  static constexpr std::array names = {
      VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME,
      VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME};
  return names;
}

namespace {

bool has_features(const InstanceApi& api, VkPhysicalDevice device) {
  MatrixFeatures matrices(VK_FALSE);
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     matrices.chain()};
  api.vkGetPhysicalDeviceFeatures2(device, &features);
  return matrices.are_all_there();
}

// Returns true if compute pipelines support the matrices with a required subgroup size.
bool is_for_compute(const InstanceApi& api, VkPhysicalDevice device) {
  VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrices{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT, &matrices};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &sizes};
  api.vkGetPhysicalDeviceProperties2(device, &properties);
  // Drivers for Intel's GPUs before Xe2, whose smallest subgroup has 8 invocations, list matrices
  // but emulate them with ordinary instructions, which is slower than not using them.
  constexpr std::uint32_t intel = 0x8086;
  if (properties.properties.vendorID == intel && sizes.minSubgroupSize < 16) return false;
  return matrices.cooperativeMatrixSupportedStages & sizes.requiredSubgroupSizeStages &
         VK_SHADER_STAGE_COMPUTE_BIT;
}

bool is_of_halves(const VkCooperativeMatrixPropertiesKHR& p) {
  return p.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
         p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
         p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && p.scope == VK_SCOPE_SUBGROUP_KHR &&
         !p.saturatingAccumulation;
}

}  // namespace

MatrixUnit read_matrices(const InstanceApi& api, VkPhysicalDevice device) {
  const auto list = api.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR;
  if (!list || !has_features(api, device) || !is_for_compute(api, device)) return {};
  std::uint32_t count = 0;
  list(device, &count, nullptr);
  std::vector<VkCooperativeMatrixPropertiesKHR> all(
      count, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  list(device, &count, all.data());
  MatrixUnit best;
  for (const VkCooperativeMatrixPropertiesKHR& p : all)
    if (is_of_halves(p) && p.MSize * p.NSize * p.KSize > best.m * best.n * best.k)
      best = {p.MSize, p.NSize, p.KSize};
  return best;
}

}  // namespace quern::vulkan
