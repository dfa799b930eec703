// SPDX-License-Identifier: Apache-2.0
// A logical device and the objects that belong to it: the queue, memory, pipelines.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <quern/device.h>

#include "engine/devices/vulkan/api.h"
#include "engine/devices/vulkan/capabilities.h"
#include "engine/devices/vulkan/own_shaders.h"
#include "engine/devices/vulkan/pipelines.h"
#include "engine/devices/vulkan/tuning.h"
#include "engine/devices/vulkan/turns.h"
#include "engine/vocabulary/platform/process.h"

namespace quern::vulkan {

// The checks of the Khronos validation layer: none; those of calls and of synchronization; these,
// and that every access of every shader lies within its buffer.
enum class Validation : std::uint8_t { off, on, shaders };

// The VkInstance of the process: created on first use and kept, since with the last instance the
// driver goes and must be loaded anew. A process of tests that did so for each device found no
// driver any more after a while (NVIDIA 580; the cause is not known).
class ApiInstance {
 public:
  static Result<std::shared_ptr<ApiInstance>> get(Validation validation);
  // Creates one of its own. Errors: unsupported for a loader older than Vulkan 1.1, not_found if
  // the layer is not installed.
  static Result<std::shared_ptr<ApiInstance>> create(const Loader& loader, Validation validation);
  ~ApiInstance();

  const InstanceApi& api() const { return api_; }
  // Duplicates (one GPU under two drivers) are left out. Order: discrete, integrated, virtual,
  // software.
  std::vector<VkPhysicalDevice> devices() const;
  // False in a child of fork(), where the driver's threads are missing: only what waits for none of
  // them may be called there. False at the end of the process, too.
  bool is_usable() const;
  // Returns the messages of the validation layer since the last call; "" if there were none.
  std::string take_messages();
  void add_message(const std::string& text);

 private:
  ApiInstance() = default;
  Status open(const Loader& loader, Validation validation);

  const std::int64_t process_ = platform::process_id();
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
  std::byte* mapped() const { return mapped_; }  // null: not mapped
  bool is_cached() const { return cached_; }     // in host-cached memory, which the host reads fast
  // flush() follows the host's writes and invalidate() precedes its reads, for memory that is not
  // coherent.
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
  std::uint64_t allocated_ = 0;  // bytes of memory_
  std::byte* mapped_ = nullptr;
  bool is_visible_ = false;  // to the host, if device buffers may be mapped
  bool coherent_ = true;
  bool cached_ = false;
};

// Commands that were submitted to the queue, and the means to wait for them.
struct Submission {
  using Clock = std::chrono::steady_clock;

  std::uint64_t value = 0;         // of the device's timeline semaphore
  VkFence fence = VK_NULL_HANDLE;  // used if there is no timeline
  bool is_pending = false;
  Clock::time_point submitted{};
  // Once it was waited for: the time that the queue worked for others before it, as far as somebody
  // waited for them, and its own.
  Clock::duration waited{}, ran{};
};

// Options given when the device is opened.
struct CoreOptions {
  OwnShaders shaders;
  std::uint32_t tune_ms = 0;     // time per plan for measuring candidates of dispatches; 0: none
  std::uint32_t split = 0;       // the most dispatches of a submission; 0: any number
  std::uint32_t candidate = 0;   // for tests: number of the candidate to run; 0: the best
  std::uint64_t lose_after = 0;  // for tests: submissions until it counts as lost; 0: never
  // Estimated bytes of pipelines that stay although nobody uses them.
  std::uint64_t idle = std::uint64_t{64} << 20;
  std::uint64_t piece = 0;   // for tests: the work of a piece of a recording; 0: by the device
  std::uint64_t memory = 0;  // for tests: bytes that all buffers may take; 0: what there is
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

  // Created once per shader, constants and base. Any thread.
  Result<PipelineRef> pipeline(const Dispatch& work, Base base = Base::zero);
  // Creates those of all dispatches that do not exist yet, several at a time. Errors also: those of
  // `stop`, which may be null.
  Result<std::vector<PipelineRef>> make_pipelines(std::span<const PipelineOf> wanted,
                                                  const Stop* stop);
  // Destroys pipelines that nobody holds, but for the last few.
  void trim_pipelines();
  // An estimate for one pipeline.
  std::size_t pipeline_bytes() const { return pipelines_->bytes_each(); }
  // Marks all existing pipelines as run.
  void mark_warm() { pipelines_->mark_warm(); }
  const CoreOptions& options() const { return options_; }
  // Submits the command buffers to the queue, in this order, without waiting.
  Status start(std::span<const VkCommandBuffer> commands, Submission& submission);
  // Waits until the submission is done. Errors: busy if it is not done after `nanoseconds`; it then
  // continues.
  Status wait(Submission& submission, std::uint64_t nanoseconds = ~std::uint64_t{0});
  // The value of the last submission of anybody.
  std::uint64_t last_submitted() const { return timeline_value_.load(std::memory_order_relaxed); }
  // Returns the index of the best memory type that has `wanted` and is among `allowed`; -1 if there
  // is none.
  int memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted,
                  VkMemoryPropertyFlags liked) const;
  VkMemoryPropertyFlags memory_flags(int type) const {
    return memory_.memoryTypes[type].propertyFlags;
  }
  // Returns true once the device has stopped for good, and where the instance is not usable.
  bool lost() const { return lost_.load(std::memory_order_relaxed) || !instance_->is_usable(); }
  Status lost_error() const;
  // Returns an error if the validation layer has reported messages.
  Status check_validation() const;

  // Writes pipelines and measurements to disk, where they are new.
  void save_files() const;

  YoungRuns& young_runs() { return young_runs_; }
  Tuning& tuning() { return tuning_; }
  // `work`, or the one of its candidates that is to run in its place.
  const Dispatch& candidate_of(const Dispatch& work) const;

  struct Counts {
    std::atomic<std::uint64_t> submissions, dispatches, barriers, pipelines, allocations, bytes_up,
        bytes_down;
    std::atomic<std::uint64_t> held_bytes;  // of device memory, now
    std::atomic<std::uint64_t> recordings;
  };
  Counts counts;

 private:
  Core() = default;
  Status create_device();
  Status open_queue();
  Status create_timeline();
  Status outcome(VkResult result);
  void note_done(Submission& submission);
  void save_pipeline_cache() const;
  void count_pipelines();

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
  std::atomic<std::uint64_t> timeline_value_ = 0;  // of the last submission; set under queue_mutex_
  std::atomic<Submission::Clock::time_point> last_done_{};  // when a submission was seen to be done
  Tuning tuning_;
  YoungRuns young_runs_;
  std::mutex queue_mutex_;
  std::optional<Pipelines> pipelines_;
  std::atomic<bool> lost_ = false;
};

}  // namespace quern::vulkan
