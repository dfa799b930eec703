// SPDX-License-Identifier: Apache-2.0
// A logical device and what belongs to it alone: the queue, memory, pipelines.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <quern/device.h>

#include "engine/devices/vulkan/api.h"
#include "engine/devices/vulkan/capabilities.h"
#include "engine/devices/vulkan/tuning.h"

namespace quern::vulkan {

// Whether the Khronos layer watches, with core and synchronization validation.
enum class Validation : std::uint8_t { off, on };

// The VkInstance of the process: made on first use, gone with its last device.
class ApiInstance {
 public:
  static Result<std::shared_ptr<ApiInstance>> get(Validation validation);
  ~ApiInstance();

  const InstanceApi& api() const { return api_; }
  // Doubles (one GPU under two drivers) are left out; discrete, integrated, virtual, software.
  std::vector<VkPhysicalDevice> devices() const;
  // What the validation layer has said since the last call; "" when all was well.
  std::string take_messages();
  void add_message(std::string text);

 private:
  ApiInstance() = default;
  Status create(const Loader& loader, Validation validation);

  VkInstance instance_ = VK_NULL_HANDLE;
  InstanceApi api_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::string messages_;
};

class Core;

// A VkBuffer with memory of its own.
class Buffer {
 public:
  enum class Use { device, upload, download };
  static Result<std::shared_ptr<Buffer>> create(std::shared_ptr<Core> core, std::uint64_t bytes,
                                                Use use);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  VkBuffer handle() const { return buffer_; }
  std::uint64_t bytes() const { return bytes_; }
  std::byte* mapped() const { return mapped_; }  // null: the host cannot see it
  bool is_cached() const { return cached_; }     // the host reads it as fast as its own
  // Around the host's writes and reads where the memory is not coherent.
  Status flush() const;
  Status invalidate() const;

 private:
  Buffer() = default;
  Status allocate(Use use);
  int memory_type(Use use, std::uint32_t allowed) const;
  Status no_memory() const;
  std::shared_ptr<Core> core_;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  std::uint64_t bytes_ = 0;
  std::byte* mapped_ = nullptr;
  bool is_visible_ = false;  // to the host, where a device buffer may be mapped
  bool coherent_ = true;
  bool cached_ = false;
};

// Commands that were handed to the queue, and how to know that they are done.
struct Submission {
  std::uint64_t value = 0;         // of the device's timeline...
  VkFence fence = VK_NULL_HANDLE;  // ...or, without one, its own
  bool is_pending = false;
};

// What whoever opened the device wants of it.
struct CoreOptions {
  std::uint32_t tune_ms = 0;    // time to measure candidates of dispatches in, a plan; 0: none
  std::uint32_t split = 0;      // dispatches that a submission has at most; 0: any number
  std::uint32_t candidate = 0;  // of dispatches that have so many, this one, for tests; 0: the best
  std::uint64_t lose_after = 0;  // submissions after which it counts as lost, for tests; 0: never
};

// A compute pipeline; the layout depends only on how many buffers it has.
struct Pipeline {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout sets = VK_NULL_HANDLE;
  // A driver may put off its code generation to the first dispatch: nobody has submitted one yet.
  bool is_fresh = true;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  static Result<std::shared_ptr<Core>> create(std::shared_ptr<ApiInstance> instance,
                                              VkPhysicalDevice physical, Capabilities capabilities,
                                              const CoreOptions& options = {});
  ~Core();

  const Capabilities& capabilities() const { return capabilities_; }
  const DeviceApi& api() const { return api_; }
  VkDevice device() const { return device_; }

  // Made once per shader and constants. Any thread.
  Result<Pipeline> pipeline(const Dispatch& work);
  // The pipelines that are there now have all been run.
  void mark_warm();
  const CoreOptions& options() const { return options_; }
  // Hands each of them to the queue, in this order, without waiting.
  Status start(std::span<const VkCommandBuffer> commands, Submission& submission);
  // Until it is done. Errors: busy when that is not so after `nanoseconds`; it goes on then.
  Status wait(Submission& submission, std::uint64_t nanoseconds = ~std::uint64_t{0});
  // Index of the best memory type that has `wanted` and is among `allowed`; -1: there is none.
  int memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted,
                  VkMemoryPropertyFlags liked) const;
  VkMemoryPropertyFlags memory_flags(int type) const {
    return memory_.memoryTypes[type].propertyFlags;
  }
  // Whether the device has stopped for good.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  Status lost_error() const;
  // An error when the validation layer has complained.
  Status check_validation() const;

  Tuning& tuning() { return tuning_; }
  // `work`, or the one of its candidates that is to run in its place.
  const Dispatch& candidate_of(const Dispatch& work) const;

  struct Counts {
    std::atomic<std::uint64_t> submissions, dispatches, barriers, pipelines, allocations, bytes_up,
        bytes_down;
  };
  Counts counts;

 private:
  Core() = default;
  Status create_device();
  Status open_queue();
  Status create_timeline();
  Status outcome(VkResult result);
  void save_pipeline_cache() const;
  struct Layout {
    VkDescriptorSetLayout sets = VK_NULL_HANDLE;
    VkPipelineLayout pipeline = VK_NULL_HANDLE;
  };
  Result<Layout> layout(std::uint32_t buffers);
  Result<VkShaderModule> module(std::string_view shader);

  std::shared_ptr<ApiInstance> instance_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  Capabilities capabilities_;
  DeviceApi api_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkPhysicalDeviceMemoryProperties memory_{};
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::vector<std::byte> stored_cache_;  // as it was on disk
  CoreOptions options_;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::uint64_t timeline_value_ = 0;  // of the last submission; under queue_mutex_
  Tuning tuning_;
  std::mutex queue_mutex_;
  std::mutex pipelines_mutex_;
  std::map<std::uint32_t, Layout> layouts_;
  std::map<std::string, VkShaderModule, std::less<>> modules_;
  // The size of subgroups is a shader's and the device's.
  using PipelineKey = std::pair<std::string, std::vector<std::uint32_t>>;
  std::map<PipelineKey, Pipeline> pipelines_;
  std::atomic<bool> lost_ = false;
};

}  // namespace quern::vulkan
