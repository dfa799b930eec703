// SPDX-License-Identifier: Apache-2.0
// What a physical device can do, as far as we ask: filled once, and the only place where anything
// about a device is decided.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/devices/vulkan/api.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

struct Capabilities {
  std::string title;
  std::string driver;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  std::uint32_t api_version = 0;
  std::uint32_t vendor = 0;
  std::array<std::uint8_t, VK_UUID_SIZE> uuid{};
  std::array<std::uint8_t, VK_UUID_SIZE> cache_uuid{};  // of the driver's pipeline cache
  std::uint32_t queue_family = 0;

  std::uint32_t subgroup_size = 0;
  std::array<std::uint32_t, 3> max_groups{};
  std::uint32_t max_invocations = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t push_bytes = 0;
  std::uint64_t max_range = 0;  // of one binding
  std::uint64_t max_allocation = 0;
  std::uint64_t alignment = 256;    // of every binding
  std::uint64_t device_memory = 0;  // bytes of the largest device-local heap
  std::string heaps;                // what they are, for people
  std::uint32_t units = 1;  // that run workgroups side by side; a guess where it is not said
  MatrixUnit matrices;
  double timestamp_ns = 0;           // a tick; 0: the queue has no timestamps
  std::uint64_t timestamp_mask = 0;  // bits of one that count

  // Each can be forced off, so that the way without it is tested.
  bool push_descriptors = false;
  bool timeline = false;  // semaphores that count; else each list of commands has a fence
  bool storage_8bit = false;
  bool storage_16bit = false;
  bool int64 = false;
  bool integer_dot = false;         // VK_KHR_shader_integer_dot_product
  bool host_visible = false;        // device memory that the host maps
  bool cooperative_matrix = false;  // `matrices`, and all that pipelines with them need
  // Off, results are wrong: for the test that the validation layer notices.
  bool barriers = true;
  // A device in software gets what kernels choose for hardware, for tests.
  bool as_hardware = false;
  // Kernels with matrices of f16 run loops in their place, for tests.
  bool emulate_matrices = false;
  bool half_products = false;  // as GpuTarget has it

  bool is_software() const { return type == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  GpuTarget target() const;
};

Capabilities read_capabilities(const InstanceApi& api, VkPhysicalDevice device);

// Names of the features that can be forced off, and whether they are on.
std::vector<std::pair<std::string_view, bool Capabilities::*>> switches();

// Lower-case hexadecimal.
std::string uuid_text(const std::array<std::uint8_t, VK_UUID_SIZE>& uuid);

// For `quern devices`.
std::vector<std::pair<std::string, std::string>> describe(const Capabilities& c);

}  // namespace quern::vulkan
