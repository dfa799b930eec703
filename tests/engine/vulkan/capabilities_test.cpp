// SPDX-License-Identifier: Apache-2.0
// What is read of a device, from drivers that are functions of this file.
#include "engine/devices/vulkan/capabilities.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/devices/vulkan/device_features.h"

namespace quern::vulkan {
namespace {

// What the driver answers.
struct Driver {
  VkPhysicalDeviceProperties properties{};
  std::uint32_t subgroup = 32;
  std::uint64_t max_allocation = std::uint64_t{1} << 30;
  std::uint32_t nvidia_units = 0;
  std::vector<std::uint32_t> amd_units;  // engines, arrays of each, units of each
  std::vector<std::string> extensions;
  std::vector<VkQueueFamilyProperties> queues = {{VK_QUEUE_COMPUTE_BIT, 1, 64, {1, 1, 1}}};
  VkPhysicalDeviceMemoryProperties memory{};
  // Structures of features that are all true; others keep what was in them.
  std::set<VkStructureType> features;
  VkPhysicalDeviceFeatures plain{};
  std::vector<VkCooperativeMatrixPropertiesKHR> matrices;
  VkShaderStageFlags matrix_stages = VK_SHADER_STAGE_COMPUTE_BIT;
  VkShaderStageFlags subgroup_stages = VK_SHADER_STAGE_COMPUTE_BIT;
  std::uint32_t least_subgroup = 32;
  // Structures that were asked for.
  std::set<VkStructureType> asked;
};
Driver driver;

template <class Structure>
Structure& as(VkBaseOutStructure* s) {
  return *reinterpret_cast<Structure*>(s);
}

void properties_of(VkPhysicalDevice, VkPhysicalDeviceProperties2* out) {
  out->properties = driver.properties;
  for (auto* s = static_cast<VkBaseOutStructure*>(out->pNext); s; s = s->pNext) {
    driver.asked.insert(s->sType);
    switch (static_cast<int>(s->sType)) {
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES:
        as<VkPhysicalDeviceSubgroupProperties>(s).subgroupSize = driver.subgroup;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES:
        as<VkPhysicalDeviceMaintenance3Properties>(s).maxMemoryAllocationSize =
            driver.max_allocation;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES:
        as<VkPhysicalDeviceIDProperties>(s).deviceUUID[15] = 0xa7;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES:
        std::strcpy(as<VkPhysicalDeviceDriverProperties>(s).driverName, "paper");
        std::strcpy(as<VkPhysicalDeviceDriverProperties>(s).driverInfo, "1.2");
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV:
        as<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(s).shaderSMCount = driver.nvidia_units;
        break;
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD: {
        auto& amd = as<VkPhysicalDeviceShaderCorePropertiesAMD>(s);
        amd.shaderEngineCount = driver.amd_units[0];
        amd.shaderArraysPerEngineCount = driver.amd_units[1];
        amd.computeUnitsPerShaderArray = driver.amd_units[2];
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT: {
        auto& sizes = as<VkPhysicalDeviceSubgroupSizeControlPropertiesEXT>(s);
        sizes.minSubgroupSize = driver.least_subgroup;
        sizes.requiredSubgroupSizeStages = driver.subgroup_stages;
        break;
      }
      case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR:
        as<VkPhysicalDeviceCooperativeMatrixPropertiesKHR>(s).cooperativeMatrixSupportedStages =
            driver.matrix_stages;
        break;
      default: break;
    }
  }
}

// The bytes of a structure's features.
std::size_t bytes_of(VkStructureType type) {
  switch (static_cast<int>(type)) {
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
      return sizeof(VkPhysicalDevice8BitStorageFeatures);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
      return sizeof(VkPhysicalDevice16BitStorageFeatures);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
      return sizeof(VkPhysicalDeviceVulkanMemoryModelFeatures);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES:
      return sizeof(VkPhysicalDeviceShaderFloat16Int8Features);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT:
      return sizeof(VkPhysicalDeviceSubgroupSizeControlFeaturesEXT);
    case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR:
      return sizeof(VkPhysicalDeviceCooperativeMatrixFeaturesKHR);
    default: return sizeof(VkBaseOutStructure) + sizeof(VkBool32);  // of one feature
  }
}

void features_of(VkPhysicalDevice, VkPhysicalDeviceFeatures2* out) {
  out->features = driver.plain;
  for (auto* s = static_cast<VkBaseOutStructure*>(out->pNext); s; s = s->pNext) {
    driver.asked.insert(s->sType);
    if (!driver.features.contains(s->sType)) continue;
    auto* begin = reinterpret_cast<std::byte*>(s) + sizeof(VkBaseOutStructure);
    const VkBool32 yes = VK_TRUE;
    const std::size_t count = (bytes_of(s->sType) - sizeof(VkBaseOutStructure)) / sizeof yes;
    for (std::size_t i = 0; i < count; ++i) std::memcpy(begin + i * sizeof yes, &yes, sizeof yes);
  }
}

void memory_of(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties2* out) {
  out->memoryProperties = driver.memory;
}

// As Vulkan lists: how many there are, or as many as there is room for.
template <class T>
void list(const std::vector<T>& from, std::uint32_t* count, T* to) {
  if (to) std::copy_n(from.begin(), *count, to);
  *count = static_cast<std::uint32_t>(from.size());
}

void queues_of(VkPhysicalDevice, std::uint32_t* count, VkQueueFamilyProperties* to) {
  list(driver.queues, count, to);
}

VkResult extensions_of(VkPhysicalDevice, const char*, std::uint32_t* count,
                       VkExtensionProperties* to) {
  std::vector<VkExtensionProperties> all(driver.extensions.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    std::strcpy(all[i].extensionName, driver.extensions[i].c_str());
  list(all, count, to);
  return VK_SUCCESS;
}

VkResult matrices_of(VkPhysicalDevice, std::uint32_t* count, VkCooperativeMatrixPropertiesKHR* to) {
  list(driver.matrices, count, to);
  return VK_SUCCESS;
}

Capabilities read() {
  InstanceApi api;
  api.vkGetPhysicalDeviceProperties2 = properties_of;
  api.vkGetPhysicalDeviceFeatures2 = features_of;
  api.vkGetPhysicalDeviceMemoryProperties2 = memory_of;
  api.vkGetPhysicalDeviceQueueFamilyProperties = queues_of;
  api.vkEnumerateDeviceExtensionProperties = extensions_of;
  api.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR = matrices_of;
  return read_capabilities(api, VK_NULL_HANDLE);
}

class CapabilitiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    driver = {};
    VkPhysicalDeviceLimits& l = driver.properties.limits;
    std::strcpy(driver.properties.deviceName, "a card");
    driver.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    driver.properties.apiVersion = VK_API_VERSION_1_1;
    l.maxComputeWorkGroupCount[0] = 900;
    l.maxComputeWorkGroupCount[1] = 700;
    l.maxComputeWorkGroupCount[2] = 800;
    l.maxComputeWorkGroupInvocations = 1024;
    l.maxComputeWorkGroupSize[0] = 512;
    l.maxComputeSharedMemorySize = 32 << 10;
    l.maxPushConstantsSize = 128;
    l.maxStorageBufferRange = 1 << 27;
    l.minStorageBufferOffsetAlignment = 16;
    l.nonCoherentAtomSize = 64;
    l.timestampPeriod = 2.5F;
  }

  // A device that has matrices of halves in every way that we ask for.
  static void add_matrices() {
    driver.extensions = {
        VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME,
        VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME};
    driver.features = {static_cast<VkStructureType>(
                           VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR),
                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT};
    driver.matrices = {halves(16, 16, 16)};
  }
  static VkCooperativeMatrixPropertiesKHR halves(std::uint32_t m, std::uint32_t n,
                                                 std::uint32_t k) {
    VkCooperativeMatrixPropertiesKHR p{};
    p.MSize = m;
    p.NSize = n;
    p.KSize = k;
    p.AType = p.BType = VK_COMPONENT_TYPE_FLOAT16_KHR;
    p.CType = p.ResultType = VK_COMPONENT_TYPE_FLOAT32_KHR;
    p.scope = VK_SCOPE_SUBGROUP_KHR;
    return p;
  }
};

TEST_F(CapabilitiesTest, LimitsAreTheSmallestThatHoldInEachDirection) {
  driver.extensions = {VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME};
  const Capabilities c = read();
  EXPECT_EQ(c.title, "a card");
  EXPECT_EQ(c.driver, "paper 1.2");
  EXPECT_EQ(c.uuid.back(), 0xa7);
  EXPECT_EQ(uuid_text(c.uuid), "000000000000000000000000000000a7");
  EXPECT_EQ(c.max_invocations, 512U) << "no more than fit in one direction";
  EXPECT_EQ(c.alignment, 256U);
  EXPECT_EQ(c.max_allocation, std::uint64_t{1} << 30);
  const GpuTarget t = c.target();
  EXPECT_EQ(t.max_groups, 700U);
  EXPECT_EQ(t.subgroup_size, 32U);
  EXPECT_EQ(t.shared_bytes, 32U << 10);
  EXPECT_EQ(t.max_range, std::uint64_t{1} << 27);
  EXPECT_FALSE(t.software);
  EXPECT_EQ(t.max_iterations, 200'000U);
  driver.properties.limits.minStorageBufferOffsetAlignment = 1024;
  EXPECT_EQ(read().alignment, 1024U);
  driver.properties.limits.nonCoherentAtomSize = 4096;
  EXPECT_EQ(read().alignment, 4096U);
}

TEST_F(CapabilitiesTest, AStructureIsAskedForByDevicesThatKnowIt) {
  const Capabilities none = read();
  EXPECT_FALSE(none.storage_8bit || none.timeline || none.integer_dot || none.push_descriptors);
  EXPECT_EQ(driver.asked, (std::set{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
                                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES,
                                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
                                    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES}));
  driver.extensions = {VK_KHR_8BIT_STORAGE_EXTENSION_NAME, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
                       VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME,
                       VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
  const Capabilities off = read();
  EXPECT_FALSE(off.storage_8bit || off.timeline || off.integer_dot) << "known, and not there";
  EXPECT_TRUE(off.push_descriptors);
  driver.features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
                     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
                     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
  const Capabilities on = read();
  EXPECT_TRUE(on.storage_8bit && on.timeline && on.integer_dot);
  EXPECT_TRUE(on.target().storage_8bit && on.target().integer_dot);
}

TEST_F(CapabilitiesTest, HalvesInBuffersNeedArithmeticOfThemToo) {
  driver.features = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  EXPECT_FALSE(read().storage_16bit);
  driver.plain.shaderInt16 = VK_TRUE;
  EXPECT_TRUE(read().storage_16bit);
  driver.features.clear();
  EXPECT_FALSE(read().storage_16bit);
  EXPECT_FALSE(read().int64);
  driver.plain.shaderInt64 = VK_TRUE;
  EXPECT_TRUE(read().target().int64);
  EXPECT_FALSE(read().target().float64);
  driver.plain.shaderFloat64 = VK_TRUE;
  EXPECT_TRUE(read().target().float64);
}

TEST(UsableDevices, AreOrderedByWhatIsLikelyToBeFastest) {
  std::vector<Capabilities> all(5);
  const std::array types = {VK_PHYSICAL_DEVICE_TYPE_CPU, VK_PHYSICAL_DEVICE_TYPE_OTHER,
                            VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,
                            VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                            VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].type = types[i];
    all[i].api_version = VK_API_VERSION_1_1;
    all[i].uuid[0] = static_cast<std::uint8_t>(i);
  }
  EXPECT_EQ(usable_devices(all), (std::vector<std::size_t>{4, 3, 2, 1, 0}));
  all[3].type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  EXPECT_EQ(usable_devices(all), (std::vector<std::size_t>{3, 4, 2, 1, 0})) << "as they are listed";
  EXPECT_TRUE(usable_devices({}).empty());
}

TEST(UsableDevices, AreNewEnoughAndListedOnce) {
  std::vector<Capabilities> all(3);
  for (Capabilities& c : all) c.api_version = VK_API_VERSION_1_2;
  EXPECT_EQ(usable_devices(all), (std::vector<std::size_t>{0})) << "one device, by three drivers";
  all[0].api_version = VK_API_VERSION_1_0;
  EXPECT_EQ(usable_devices(all), (std::vector<std::size_t>{1})) << "by the first that will do";
  all[2].uuid[7] = 1;
  EXPECT_EQ(usable_devices(all), (std::vector<std::size_t>{1, 2}));
}

// A queue that draws is busy with that.
TEST_F(CapabilitiesTest, TheQueueComputesAndDoesNotDrawWhereThereIsSuchAOne) {
  const VkQueueFamilyProperties copies{VK_QUEUE_TRANSFER_BIT, 1, 64, {1, 1, 1}};
  const VkQueueFamilyProperties all{VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT, 1, 36, {1, 1, 1}};
  const VkQueueFamilyProperties computes{VK_QUEUE_COMPUTE_BIT, 1, 0, {1, 1, 1}};
  driver.queues = {copies, all};
  Capabilities c = read();
  EXPECT_EQ(c.queue_family, 1U);
  EXPECT_EQ(c.timestamp_ns, 2.5);
  EXPECT_EQ(c.timestamp_mask, (std::uint64_t{1} << 36) - 1);
  driver.queues = {all, copies, computes, all};
  c = read();
  EXPECT_EQ(c.queue_family, 2U);
  EXPECT_EQ(c.timestamp_ns, 0) << "this one has no clock";
  driver.queues = {copies, computes, all, copies};
  EXPECT_EQ(read().queue_family, 1U);
  driver.queues = {{VK_QUEUE_COMPUTE_BIT, 1, 64, {1, 1, 1}}};
  EXPECT_EQ(read().timestamp_mask, ~std::uint64_t{0});
}

TEST_F(CapabilitiesTest, MemoryIsThatOfTheLargestHeapOfTheDevice) {
  constexpr std::uint64_t mib = 1 << 20;
  VkPhysicalDeviceMemoryProperties& m = driver.memory;
  m.memoryHeapCount = 3;
  m.memoryHeaps[0] = {900 * mib, 0};
  m.memoryHeaps[1] = {600 * mib, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  m.memoryHeaps[2] = {200 * mib, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  m.memoryTypeCount = 4;
  m.memoryTypes[0] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                      0};
  m.memoryTypes[1] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 1};
  m.memoryTypes[2] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, 2};
  m.memoryTypes[3] = {VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0};
  Capabilities c = read();
  EXPECT_EQ(c.device_memory, 600 * mib);
  EXPECT_FALSE(c.host_visible) << "it would have to be flushed";
  EXPECT_EQ(c.heaps,
            "900 MiB of the host, mapped, cached; 600 MiB of the device; 200 MiB of the device, "
            "mapped");
  m.memoryTypes[2].propertyFlags |= VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  EXPECT_TRUE(read().host_visible);
}

TEST_F(CapabilitiesTest, UnitsAreThoseThatTheDriverKnowsOrAGuess) {
  EXPECT_EQ(read().units, 64U);
  driver.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  EXPECT_EQ(read().units, 16U);
  driver.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  EXPECT_EQ(read().units, 8U);
  EXPECT_TRUE(read().target().software);
  EXPECT_GT(read().target().max_iterations, 0U);
  driver.nvidia_units = 132;
  EXPECT_EQ(read().units, 8U) << "the driver was not to be asked";
  driver.extensions = {VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME};
  EXPECT_EQ(read().units, 132U);
  driver.nvidia_units = 0;
  driver.amd_units = {4, 2, 10};
  driver.extensions = {VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME};
  EXPECT_EQ(read().units, 80U);
}

TEST_F(CapabilitiesTest, MatricesAreTheLargestOfHalvesWithSumsInFloats) {
  EXPECT_FALSE(read().cooperative_matrix);
  add_matrices();
  auto floats = halves(64, 64, 64);
  floats.AType = VK_COMPONENT_TYPE_FLOAT32_KHR;
  auto half_sums = halves(32, 64, 64);
  half_sums.CType = half_sums.ResultType = VK_COMPONENT_TYPE_FLOAT16_KHR;
  auto of_groups = halves(32, 32, 64);
  of_groups.scope = static_cast<VkScopeKHR>(2);
  auto saturating = halves(32, 32, 48);
  saturating.saturatingAccumulation = VK_TRUE;
  driver.matrices = {floats,    halves(8, 8, 16),  half_sums,         halves(16, 8, 16),
                     of_groups, halves(8, 16, 16), halves(16, 16, 8), saturating};
  const Capabilities c = read();
  EXPECT_TRUE(c.cooperative_matrix);
  EXPECT_EQ(c.matrices.m, 16U);
  EXPECT_EQ(c.matrices.n, 8U) << "of equal ones the first";
  EXPECT_EQ(c.target().matrices.k, 16U);
}

TEST_F(CapabilitiesTest, MatricesNeedEveryFeatureThatTheirPipelinesUse) {
  add_matrices();
  const Driver all = driver;
  EXPECT_EQ(read().matrices.m, 16U);
  for (std::size_t i = 0; i < all.extensions.size(); ++i) {
    driver = all;
    driver.extensions.erase(driver.extensions.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(read().matrices.m, 0U) << all.extensions[i];
  }
  for (const VkStructureType type : all.features) {
    driver = all;
    driver.features.erase(type);
    EXPECT_EQ(read().matrices.m, 0U) << type;
  }
  driver = all;
  driver.matrix_stages = VK_SHADER_STAGE_FRAGMENT_BIT;
  EXPECT_EQ(read().matrices.m, 0U);
  driver = all;
  driver.subgroup_stages = VK_SHADER_STAGE_FRAGMENT_BIT;
  EXPECT_EQ(read().matrices.m, 0U);
  driver = all;
  driver.properties.vendorID = 0x8086;
  EXPECT_EQ(read().matrices.m, 16U);
  driver.least_subgroup = 8;
  EXPECT_EQ(read().matrices.m, 0U) << "they are emulated";
  driver.properties.vendorID = 0x10de;
  EXPECT_EQ(read().matrices.m, 16U);
}

TEST_F(CapabilitiesTest, WhatIsForcedShowsInTheTarget) {
  driver.properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
  Capabilities c = read();
  c.as_hardware = true;
  EXPECT_FALSE(c.target().software);
  EXPECT_GT(c.target().max_iterations, 0U) << "its loops still end";
  c.emulate_matrices = true;
  EXPECT_TRUE(c.target().matrices.emulated);
  EXPECT_EQ(c.target().matrices.m, 16U);
  c.half_products = true;
  EXPECT_TRUE(c.target().half_products);
}

TEST_F(CapabilitiesTest, TheDescriptionHasWhatThereIs) {
  add_matrices();
  driver.extensions.emplace_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
  const auto text = [](const Capabilities& c, std::string_view name) {
    for (const auto& [key, value] : describe(c))
      if (key == name) return value;
    return std::string("no such row");
  };
  Capabilities c = read();
  EXPECT_EQ(text(c, "type"), "discrete");
  EXPECT_EQ(text(c, "vulkan"), "1.1.0");
  EXPECT_EQ(text(c, "matrices"), "16x16x16 of f16");
  EXPECT_EQ(text(c, "timestamps"), "2.500000 ns a tick");
  EXPECT_EQ(text(c, "features"), "push-descriptors, cooperative-matrix");
  EXPECT_EQ(text(c, "largest binding"), "128 MiB");
  EXPECT_EQ(text(c, "workgroup"), "up to 512");
  driver.queues[0].timestampValidBits = 0;
  driver.matrices.clear();
  for (const auto& [type, name] : {std::pair(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, "integrated"),
                                   {VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, "virtual"},
                                   {VK_PHYSICAL_DEVICE_TYPE_CPU, "software"},
                                   {VK_PHYSICAL_DEVICE_TYPE_OTHER, "other"}}) {
    driver.properties.deviceType = type;
    c = read();
    EXPECT_EQ(text(c, "type"), name);
  }
  EXPECT_EQ(text(c, "matrices"), "none");
  EXPECT_EQ(text(c, "timestamps"), "none");
}

// ---- opening a device ---------------------------------------------------------------------------

// The structures behind the first one.
std::multiset<VkStructureType> asked_by(const DeviceFeatures& f) {
  std::multiset<VkStructureType> types;
  const auto* first = static_cast<const VkBaseInStructure*>(f.chain());
  for (const auto* s = first->pNext; s; s = s->pNext) types.insert(s->sType);
  return types;
}

TEST(DeviceFeaturesTest, AreThoseOfTheCapabilities) {
  Capabilities c;
  {
    const DeviceFeatures none(c);
    EXPECT_TRUE(none.extensions().empty());
    EXPECT_EQ(asked_by(none),
              (std::multiset{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES}));
    const auto& features = *static_cast<const VkPhysicalDeviceFeatures2*>(none.chain());
    EXPECT_FALSE(features.features.shaderInt16 || features.features.shaderInt64);
  }
  struct Row {
    bool Capabilities::*member;
    std::string extension;
    VkStructureType type;
  };
  const std::array rows = {
      Row{&Capabilities::storage_8bit, VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES},
      Row{&Capabilities::timeline, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES},
      Row{&Capabilities::integer_dot, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME,
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES}};
  for (const Row& row : rows) {
    Capabilities one;
    one.*row.member = true;
    const DeviceFeatures f(one);
    ASSERT_EQ(f.extensions().size(), 1U);
    EXPECT_EQ(f.extensions()[0], row.extension);
    EXPECT_EQ(asked_by(f),
              (std::multiset{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, row.type}));
  }
}

TEST(DeviceFeaturesTest, OfAllCapabilitiesAreOneChain) {
  Capabilities c;
  c.push_descriptors = c.timeline = c.storage_8bit = c.storage_16bit = c.int64 = c.float64 =
      c.integer_dot = c.cooperative_matrix = true;
  const DeviceFeatures f(c);
  EXPECT_EQ(asked_by(f).size(), 8U)
      << "of 8 and 16 bits, semaphores, dot products; four of matrices";
  EXPECT_EQ(std::set(f.extensions().begin(), f.extensions().end()).size(), 8U);
  EXPECT_EQ(
      std::set<std::string>(f.extensions().begin(), f.extensions().end()),
      (std::set<std::string>{
          VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
          VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
          VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME,
          VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME,
          VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME}));
  const auto& features = *static_cast<const VkPhysicalDeviceFeatures2*>(f.chain());
  EXPECT_TRUE(features.features.shaderInt16 && features.features.shaderInt64 &&
              features.features.shaderFloat64);
}

}  // namespace
}  // namespace quern::vulkan
