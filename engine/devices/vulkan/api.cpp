// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/api.h"

#include "engine/vocabulary/platform/libraries.h"
#include "engine/vocabulary/text_util.h"

namespace quern::vulkan {

const Loader* loader() {
  static const Loader* const opened = []() -> const Loader* {
    void* library = platform::open_library(platform::vulkan_library, platform::Symbols::local);
    if (!library) return nullptr;
    static Loader l;
    l.vkGetInstanceProcAddr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        platform::find_symbol(library, "vkGetInstanceProcAddr"));
    if (!l.vkGetInstanceProcAddr) return nullptr;
#define LOAD(name) l.name = reinterpret_cast<PFN_##name>(l.vkGetInstanceProcAddr(nullptr, #name));
    LOAD(vkCreateInstance)
    LOAD(vkEnumerateInstanceVersion)
    LOAD(vkEnumerateInstanceLayerProperties)
    LOAD(vkEnumerateInstanceExtensionProperties)
#undef LOAD
    // A Vulkan 1.0 loader has no version query and is too old.
    return l.vkCreateInstance && l.vkEnumerateInstanceVersion ? &l : nullptr;
  }();
  return opened;
}

bool InstanceApi::load(const Loader& loader, VkInstance instance) {
  bool all = true;
#define LOAD(name)                                                                    \
  name = reinterpret_cast<PFN_##name>(loader.vkGetInstanceProcAddr(instance, #name)); \
  all = all && name;
  QUERN_VK_INSTANCE(LOAD)
#undef LOAD
  vkCreateDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      loader.vkGetInstanceProcAddr(instance, "vkCreateDebugUtilsMessengerEXT"));
  vkDestroyDebugUtilsMessengerEXT = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
      loader.vkGetInstanceProcAddr(instance, "vkDestroyDebugUtilsMessengerEXT"));
  vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR =
      reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
          loader.vkGetInstanceProcAddr(instance,
                                       "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  return all;
}

bool DeviceApi::load(const InstanceApi& instance, VkDevice device) {
  bool all = true;
#define LOAD(name)                                                                  \
  name = reinterpret_cast<PFN_##name>(instance.vkGetDeviceProcAddr(device, #name)); \
  all = all && name;
  QUERN_VK_DEVICE(LOAD)
#undef LOAD
  vkCmdPushDescriptorSetKHR = reinterpret_cast<PFN_vkCmdPushDescriptorSetKHR>(
      instance.vkGetDeviceProcAddr(device, "vkCmdPushDescriptorSetKHR"));
  vkWaitSemaphoresKHR = reinterpret_cast<PFN_vkWaitSemaphoresKHR>(
      instance.vkGetDeviceProcAddr(device, "vkWaitSemaphoresKHR"));
  return all;
}

const char* name_of(VkResult result) {
  switch (result) {
#define NAME(x) \
  case x: return #x;
    NAME(VK_SUCCESS)
    NAME(VK_NOT_READY)
    NAME(VK_TIMEOUT)
    NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
    NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
    NAME(VK_ERROR_INITIALIZATION_FAILED)
    NAME(VK_ERROR_DEVICE_LOST)
    NAME(VK_ERROR_MEMORY_MAP_FAILED)
    NAME(VK_ERROR_LAYER_NOT_PRESENT)
    NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
    NAME(VK_ERROR_FEATURE_NOT_PRESENT)
    NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
    NAME(VK_ERROR_TOO_MANY_OBJECTS)
    NAME(VK_ERROR_FRAGMENTED_POOL)
    NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
#undef NAME
    default: return "an unknown error";
  }
}

Status check(VkResult result, const char* what) {
  switch (result) {
    case VK_SUCCESS: return {};
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return {Code::out_of_memory, cat(what, ": ", name_of(result))};
    case VK_ERROR_DEVICE_LOST: return {Code::device_lost, cat(what, ": the device was lost")};
    default: return {Code::internal, cat(what, ": ", name_of(result), " (", int{result}, ")")};
  }
}

}  // namespace quern::vulkan
