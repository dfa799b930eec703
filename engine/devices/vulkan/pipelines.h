// SPDX-License-Identifier: Apache-2.0
// The compute pipelines of a logical device, with their shader modules and layouts.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <quern/status.h>

#include "engine/devices/vulkan/api.h"
#include "engine/devices/vulkan/capabilities.h"
#include "engine/vocabulary/stop.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

// The workgroups that dispatches of a pipeline may begin at.
enum class Base : std::uint8_t { zero, any };

// A compute pipeline; the layout depends only on the number of its buffers.
struct Pipeline {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout sets = VK_NULL_HANDLE;
  // True until a dispatch was submitted: a driver may defer code generation until then.
  bool is_fresh = true;
};

// What a pipeline is for. It is the same for all dispatches of one shader, constants and base.
struct PipelineOf {
  const Dispatch* work;
  Base base = Base::zero;
};

// Any thread.
class Pipelines {
 public:
  // The api, the device and the cache outlive this object.
  Pipelines(const DeviceApi& api, VkDevice device, VkPipelineCache cache,
            const Capabilities& capabilities);
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  // The last call. A destructor does not do it, since no child of fork() may.
  void destroy();

  // Created on first use.
  Result<Pipeline> get(const PipelineOf& wanted);
  // Creates those that do not exist yet, on several threads where the driver compiles while it
  // creates them (one in software does so at the first dispatch). Errors also: those of `stop`,
  // which may be null.
  Status make(std::span<const PipelineOf> wanted, const Stop* stop);
  // Marks all existing pipelines as run.
  void mark_warm();
  // The number of pipelines created so far.
  std::uint64_t made() const;

 private:
  struct Layout {
    VkDescriptorSetLayout sets = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  // The subgroup size is not part of the key: the shader and the device determine it.
  using Key = std::tuple<std::string, std::vector<std::uint32_t>, Base>;
  static Key key_of(const PipelineOf& wanted);
  struct Blank;

  Result<Layout> layout(std::uint32_t buffers);
  Result<VkShaderModule> module(std::string_view shader);
  Result<std::vector<Blank>> missing(std::span<const PipelineOf> wanted);
  VkResult create(Blank& blank) const;
  Status create_all(std::span<Blank> blanks, const Stop* stop);

  const DeviceApi& api_;
  VkDevice device_;
  VkPipelineCache cache_;
  const bool compiles_at_once_;
  const bool pushes_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Layout> layouts_;
  std::map<std::string, VkShaderModule, std::less<>> modules_;
  std::map<Key, Pipeline> pipelines_;
};

}  // namespace quern::vulkan
