// SPDX-License-Identifier: Apache-2.0
// The properties of a physical device that we use: queried once, and the only place where decisions
// about a device are made.
#pragma once

#include <array>
#include <span>
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
  std::string heaps;                // their description, for display
  std::uint32_t units = 1;          // that run workgroups in parallel; a guess if unknown
  MatrixUnit matrices;
  double timestamp_ns = 0;           // per tick; 0: the queue has no timestamps
  std::uint64_t timestamp_mask = 0;  // valid bits of a timestamp

  // Each can be forced off, so that the code path without it is tested.
  bool push_descriptors = false;
  bool timeline = false;  // timeline semaphores; else each list of commands has a fence
  bool storage_8bit = false;
  bool storage_16bit = false;
  bool int64 = false;
  bool float64 = false;
  bool integer_dot = false;         // VK_KHR_shader_integer_dot_product
  bool host_visible = false;        // device memory can be mapped by the host
  bool cooperative_matrix = false;  // `matrices`, and the features that their pipelines need
  // If off, results are wrong: for the test that the validation layer detects this.
  bool barriers = true;
  // For tests: a software device gets the kernels that are chosen for hardware.
  bool as_hardware = false;
  // For tests: kernels run loops in place of f16 matrix instructions.
  bool emulate_matrices = false;
  bool half_products = false;  // see GpuTarget

  bool is_software() const { return type == VK_PHYSICAL_DEVICE_TYPE_CPU; }
  GpuTarget target() const;
};

Capabilities read_capabilities(const InstanceApi& api, VkPhysicalDevice device);

// The indices of the devices that we can use, those that are likely to be fastest first: Vulkan 1.1
// or later, and each device once, though two drivers may have it.
std::vector<std::size_t> usable_devices(std::span<const Capabilities> all);

// The features that can be forced off: names and members.
std::vector<std::pair<std::string_view, bool Capabilities::*>> switches();

// Lower-case hexadecimal.
std::string uuid_text(const std::array<std::uint8_t, VK_UUID_SIZE>& uuid);

// For `quern devices`.
std::vector<std::pair<std::string, std::string>> describe(const Capabilities& c);

}  // namespace quern::vulkan
