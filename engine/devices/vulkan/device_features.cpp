// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/device_features.h"

namespace quern::vulkan {

DeviceFeatures::DeviceFeatures(const Capabilities& c) {
  bits8_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
            .storageBuffer8BitAccess = VK_TRUE};
  bits16_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
             .storageBuffer16BitAccess = c.storage_16bit};
  timeline_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
               .timelineSemaphore = VK_TRUE};
  dot_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES,
          .shaderIntegerDotProduct = VK_TRUE};
  features_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &bits16_};
  features_.features.shaderInt16 = c.storage_16bit;
  features_.features.shaderInt64 = c.int64;
  features_.features.shaderFloat64 = c.float64;
  if (c.push_descriptors) extensions_.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  if (c.storage_8bit) ask(VK_KHR_8BIT_STORAGE_EXTENSION_NAME, bits8_);
  if (c.timeline) ask(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, timeline_);
  if (c.integer_dot) ask(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME, dot_);
  if (!c.cooperative_matrix) return;
  matrices_.end_with(features_.pNext);
  features_.pNext = matrices_.chain();
  const auto for_matrices = matrix_extensions();
  extensions_.insert(extensions_.end(), for_matrices.begin(), for_matrices.end());
}

template <class Structure>
void DeviceFeatures::ask(const char* extension, Structure& structure) {
  extensions_.push_back(extension);
  structure.pNext = features_.pNext;
  features_.pNext = &structure;
}

}  // namespace quern::vulkan
