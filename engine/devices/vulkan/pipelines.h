// SPDX-License-Identifier: Apache-2.0
// The compute pipelines of a logical device, with their shader modules and layouts.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <quern/status.h>

#include "engine/devices/vulkan/api.h"
#include "engine/devices/vulkan/capabilities.h"
#include "engine/devices/vulkan/own_shaders.h"
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
  mutable std::atomic<bool> is_fresh = true;
  mutable std::atomic<std::uint32_t> plans = 0;  // that count it as theirs
};
// Commands that use a pipeline, recorded or under way, hold it.
using PipelineRef = std::shared_ptr<const Pipeline>;

// What a pipeline is for. It is the same for all dispatches of one shader, constants and base.
struct PipelineOf {
  const Dispatch* work;
  Base base = Base::zero;
};

// Any thread.
class Pipelines {
 public:
  // An estimate of what a driver keeps for one. lavapipe, which keeps a compiler's module, took 2.2
  // to 2.5 MB for one of a convolution; for GPUs it is a guess.
  std::size_t bytes_each() const { return compiles_at_once_ ? 64 << 10 : 2 << 20; }
  // The api, the device, the cache and the shaders outlive this object.
  Pipelines(const DeviceApi& api, VkDevice device, VkPipelineCache cache,
            const Capabilities& capabilities, const OwnShaders& own);
  Pipelines(const Pipelines&) = delete;
  Pipelines& operator=(const Pipelines&) = delete;
  // The last call. A destructor does not do it, since no child of fork() may.
  void destroy();

  // Created on first use.
  Result<PipelineRef> get(const PipelineOf& wanted);
  // All of them, each once. Creates those that do not exist yet, on several threads where the
  // driver compiles while it creates them (one in software does so at the first dispatch). Errors
  // also: those of `stop`, which may be null.
  Result<std::vector<PipelineRef>> make(std::span<const PipelineOf> wanted, const Stop* stop);
  // Destroys those that nobody holds, but for the last ones of at most so many bytes, as estimated.
  void trim(std::uint64_t most_idle_bytes);
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
  struct Kept {
    std::shared_ptr<Pipeline> pipeline;
    std::uint64_t used;  // by the clock
  };

  PipelineRef use(Kept& kept) {
    kept.used = ++clock_;
    return kept.pipeline;
  }
  Result<Layout> layout(std::uint32_t buffers);
  Result<VkShaderModule> module(std::string_view shader);
  Result<std::vector<Blank>> missing(std::span<const PipelineOf> wanted, StopCheck& check);
  VkResult create(Blank& blank) const;
  Status create_all(std::span<Blank> blanks, const Stop* stop);

  const DeviceApi& api_;
  VkDevice device_;
  VkPipelineCache cache_;
  const bool compiles_at_once_;
  const bool pushes_;
  const OwnShaders& own_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Layout> layouts_;
  std::map<std::string, VkShaderModule, std::less<>> modules_;
  std::map<Key, Kept> pipelines_;
  std::uint64_t clock_ = 0;
  std::uint64_t made_ = 0;
};

}  // namespace quern::vulkan
