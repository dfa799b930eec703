// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/capabilities.h"

#include <algorithm>
#include <cstring>

#include "engine/devices/vulkan/cooperative_matrix.h"
#include "engine/vocabulary/text_util.h"

namespace quern::vulkan {
namespace {

std::vector<std::string> extensions_of(const InstanceApi& api, VkPhysicalDevice device) {
  std::uint32_t count = 0;
  api.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> all(count);
  api.vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const auto& e : all) names.emplace_back(e.extensionName);
  return names;
}

// The structures of features and properties that a device supports.
struct Known {
  bool storage_8bit, timeline, integer_dot, nvidia_units, amd_units;
};

void read_features(const InstanceApi& api, VkPhysicalDevice device, const Known& known,
                   Capabilities& c) {
  VkPhysicalDevice8BitStorageFeatures bits8{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
  VkPhysicalDevice16BitStorageFeatures bits16{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
  VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &bits16};
  const auto ask = [&](auto& structure) {
    structure.pNext = features.pNext;
    features.pNext = &structure;
  };
  if (known.storage_8bit) ask(bits8);
  if (known.timeline) ask(timeline);
  if (known.integer_dot) ask(dot);
  api.vkGetPhysicalDeviceFeatures2(device, &features);
  c.integer_dot = dot.shaderIntegerDotProduct == VK_TRUE;
  c.timeline = timeline.timelineSemaphore == VK_TRUE;
  c.storage_8bit = bits8.storageBuffer8BitAccess == VK_TRUE;
  // The shaders compute with the types too.
  c.storage_16bit = bits16.storageBuffer16BitAccess == VK_TRUE && features.features.shaderInt16;
  c.int64 = features.features.shaderInt64 == VK_TRUE;
  c.float64 = features.features.shaderFloat64 == VK_TRUE;
}

void read_memory(const InstanceApi& api, VkPhysicalDevice device, Capabilities& c) {
  VkPhysicalDeviceMemoryProperties2 memory{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  api.vkGetPhysicalDeviceMemoryProperties2(device, &memory);
  const auto& m = memory.memoryProperties;
  for (std::uint32_t i = 0; i < m.memoryTypeCount; ++i) {
    const VkMemoryType& t = m.memoryTypes[i];
    if (!(t.propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) continue;
    c.device_memory = std::max<std::uint64_t>(c.device_memory, m.memoryHeaps[t.heapIndex].size);
    constexpr VkMemoryPropertyFlags both =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    c.host_visible = c.host_visible || (t.propertyFlags & both) == both;
  }
  for (std::uint32_t h = 0; h < m.memoryHeapCount; ++h) {
    VkMemoryPropertyFlags flags = 0;
    for (std::uint32_t i = 0; i < m.memoryTypeCount; ++i)
      if (m.memoryTypes[i].heapIndex == h) flags |= m.memoryTypes[i].propertyFlags;
    const bool local = m.memoryHeaps[h].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT;
    c.heaps += cat(h ? "; " : "", m.memoryHeaps[h].size >> 20, " MiB ",
                   local ? "of the device" : "of the host",
                   flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT ? ", mapped" : "",
                   flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT ? ", cached" : "");
  }
}

// Selects the compute queue family, if possible one without graphics, which runs in parallel with
// graphics.
void read_queues(const InstanceApi& api, VkPhysicalDevice device, float period, Capabilities& c) {
  std::uint32_t count = 0;
  api.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api.vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  bool found = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const VkQueueFlags flags = families[i].queueFlags;
    if (!(flags & VK_QUEUE_COMPUTE_BIT)) continue;
    if (found && (flags & VK_QUEUE_GRAPHICS_BIT)) continue;
    c.queue_family = i;
    const std::uint32_t bits = families[i].timestampValidBits;
    c.timestamp_ns = bits ? static_cast<double>(period) : 0;
    c.timestamp_mask = bits < 64 ? (std::uint64_t{1} << bits) - 1 : ~std::uint64_t{0};
    found = true;
  }
}

// The number of multiprocessors or compute units. Core Vulkan does not report it, and for most
// devices a rough size is enough.
std::uint32_t units_of(const InstanceApi& api, VkPhysicalDevice device, VkPhysicalDeviceType type,
                       const Known& known) {
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCorePropertiesAMD amd{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  if (known.nvidia_units) properties.pNext = &nvidia;
  if (known.amd_units) properties.pNext = &amd;
  if (known.nvidia_units || known.amd_units)
    api.vkGetPhysicalDeviceProperties2(device, &properties);
  const std::uint32_t said = nvidia.shaderSMCount + amd.shaderEngineCount *
                                                        amd.shaderArraysPerEngineCount *
                                                        amd.computeUnitsPerShaderArray;
  if (said > 0) return said;
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 64;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 8;
    default: return 16;
  }
}

std::string_view type_name(VkPhysicalDeviceType t) {
  switch (t) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "software";
    default: return "other";
  }
}

int preference(VkPhysicalDeviceType t) {
  switch (t) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 4;
    default: return 3;
  }
}

}  // namespace

std::vector<std::size_t> usable_devices(std::span<const Capabilities> all) {
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_known =
        std::ranges::any_of(usable, [&](std::size_t k) { return all[k].uuid == all[i].uuid; });
    if (all[i].api_version >= VK_API_VERSION_1_1 && !is_known) usable.push_back(i);
  }
  std::ranges::stable_sort(usable, {}, [&](std::size_t i) { return preference(all[i].type); });
  return usable;
}

Capabilities read_capabilities(const InstanceApi& api, VkPhysicalDevice device) {
  Capabilities c;
  const auto extensions = extensions_of(api, device);
  const auto has = [&](std::string_view name) {
    return std::ranges::find(extensions, name) != extensions.end();
  };
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties maintenance{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
  VkPhysicalDeviceSubgroupProperties subgroup{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                              &maintenance};
  VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, &subgroup};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &id};
  if (has(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME)) maintenance.pNext = &driver;
  api.vkGetPhysicalDeviceProperties2(device, &properties);
  const auto& p = properties.properties;
  c.title = p.deviceName;
  c.driver = cat(driver.driverName, " ", driver.driverInfo);
  c.type = p.deviceType;
  c.api_version = p.apiVersion;
  c.vendor = p.vendorID;
  std::copy_n(id.deviceUUID, VK_UUID_SIZE, c.uuid.begin());
  std::copy_n(p.pipelineCacheUUID, VK_UUID_SIZE, c.cache_uuid.begin());
  c.subgroup_size = subgroup.subgroupSize;
  std::copy_n(p.limits.maxComputeWorkGroupCount, 3, c.max_groups.begin());
  c.max_invocations =
      std::min(p.limits.maxComputeWorkGroupInvocations, p.limits.maxComputeWorkGroupSize[0]);
  c.shared_bytes = p.limits.maxComputeSharedMemorySize;
  c.push_bytes = p.limits.maxPushConstantsSize;
  c.max_range = p.limits.maxStorageBufferRange;
  c.max_allocation = maintenance.maxMemoryAllocationSize;
  c.alignment = std::max<std::uint64_t>(
      {256, p.limits.minStorageBufferOffsetAlignment, p.limits.nonCoherentAtomSize});
  const Known known{.storage_8bit = has(VK_KHR_8BIT_STORAGE_EXTENSION_NAME),
                    .timeline = has(VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME),
                    .integer_dot = has(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME),
                    .nvidia_units = has(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME),
                    .amd_units = has(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)};
  read_features(api, device, known, c);
  read_memory(api, device, c);
  read_queues(api, device, p.limits.timestampPeriod, c);
  c.units = units_of(api, device, c.type, known);
  if (std::ranges::all_of(matrix_extensions(), has)) c.matrices = read_matrices(api, device);
  c.cooperative_matrix = c.matrices.m > 0;
  c.push_descriptors = has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  return c;
}

GpuTarget Capabilities::target() const {
  GpuTarget t;
  t.software = is_software() && !as_hardware;
  t.subgroup_size = subgroup_size;
  t.max_groups = std::min({max_groups[0], max_groups[1], max_groups[2]});
  t.max_invocations = max_invocations;
  t.shared_bytes = shared_bytes;
  t.units = units;
  // llvmpipe silently ends all loops after 65,535 iterations.
  // On hardware some tens of milliseconds of a workgroup, which nothing can end: an invocation that
  // has more to do is better off on the CPU.
  t.max_iterations = is_software() ? 60'000 : 200'000;
  t.max_range = max_range / shader_vector_bytes * shader_vector_bytes;
  t.storage_8bit = storage_8bit;
  t.storage_16bit = storage_16bit;
  t.int64 = int64;
  t.float64 = float64;
  t.integer_dot = integer_dot;
  if (cooperative_matrix) t.matrices = matrices;
  if (emulate_matrices) t.matrices = {.m = 16, .n = 16, .k = 16, .emulated = true};
  t.half_products = half_products;
  return t;
}

std::vector<std::pair<std::string_view, bool Capabilities::*>> switches() {
  return {{"push-descriptors", &Capabilities::push_descriptors},
          {"timeline", &Capabilities::timeline},
          {"storage-8bit", &Capabilities::storage_8bit},
          {"storage-16bit", &Capabilities::storage_16bit},
          {"int64", &Capabilities::int64},
          {"float64", &Capabilities::float64},
          {"integer-dot", &Capabilities::integer_dot},
          {"host-visible", &Capabilities::host_visible},
          {"cooperative-matrix", &Capabilities::cooperative_matrix},
          {"barriers", &Capabilities::barriers}};
}

std::string uuid_text(const std::array<std::uint8_t, VK_UUID_SIZE>& uuid) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string s;
  for (std::uint8_t b : uuid) (s += digits[b >> 4]) += digits[b & 15];
  return s;
}

std::vector<std::pair<std::string, std::string>> describe(const Capabilities& c) {
  std::string features;
  for (const auto& [name, member] : switches())
    if (c.*member && member != &Capabilities::barriers)
      features += cat(features.empty() ? "" : ", ", name);
  return {
      {"type", std::string(type_name(c.type))},
      {"driver", c.driver},
      {"vulkan", cat(VK_API_VERSION_MAJOR(c.api_version), ".", VK_API_VERSION_MINOR(c.api_version),
                     ".", VK_API_VERSION_PATCH(c.api_version))},
      {"uuid", uuid_text(c.uuid)},
      {"memory", cat(c.device_memory >> 20, " MiB")},
      {"heaps", c.heaps},
      {"largest allocation", cat(c.max_allocation >> 20, " MiB")},
      {"largest binding", cat(c.max_range >> 20, " MiB")},
      {"binding alignment", cat(c.alignment, " B")},
      {"shared memory", cat(c.shared_bytes >> 10, " KiB")},
      {"push constants", cat(c.push_bytes, " B")},
      {"subgroup", cat(c.subgroup_size)},
      {"workgroup", cat("up to ", c.max_invocations)},
      {"units", cat(c.units)},
      {"matrices", c.matrices.m == 0
                       ? "none"
                       : cat(c.matrices.m, "x", c.matrices.n, "x", c.matrices.k, " of f16")},
      {"timestamps", c.timestamp_ns > 0 ? cat(c.timestamp_ns, " ns a tick") : "none"},
      {"features", features}};
}

}  // namespace quern::vulkan
