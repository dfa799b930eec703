// SPDX-License-Identifier: Apache-2.0
// Copies and dispatches in order, with the barriers that they need between them, recorded once and
// submitted any number of times: in one command buffer, unless the device wants short ones.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/devices/vulkan/core.h"
#include "engine/devices/vulkan/hazards.h"

namespace quern::vulkan {

struct Range {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
struct Binding {
  Range range;
  bool written = false;
};

class Recorder {
 public:
  // What the device's clock says at both ends of a command, in nanoseconds from any zero.
  struct Interval {
    double begin = 0, end = 0;
  };

  // The first `timed` commands are timed, one after the other, if the device has a clock.
  static Result<std::unique_ptr<Recorder>> create(std::shared_ptr<Core> core,
                                                  std::uint32_t timed = 0);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // What follows sees whatever earlier submissions wrote; they are done with what it writes.
  void acquire();
  void copy(const Range& from, const Range& to);
  // `work.buffers` are already resolved to `bindings`, by binding.
  Status dispatch(const Dispatch& work, std::span<const Binding> bindings);
  // The last command: whatever was written is there for the host.
  Status finish();

  // Hands all of it to the device; once at a time.
  Status start();
  // Until it is done. Errors: busy when that is not so after `nanoseconds`; it goes on then.
  Status wait(std::uint64_t nanoseconds = ~std::uint64_t{0});
  Status submit() {
    QUERN_TRY(start());
    return wait();
  }
  // Of the timed commands in the last submission, in order.
  Result<std::vector<Interval>> intervals() const;

  // Recorded so far: copies (none of no bytes) and dispatches.
  std::uint32_t commands_recorded() const { return copies_ + dispatches_; }
  std::uint32_t dispatches() const { return dispatches_; }
  std::uint32_t barriers() const { return barriers_; }
  // Whether it has a pipeline that no submission has run yet.
  bool is_fresh() const { return is_fresh_; }

 private:
  explicit Recorder(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  Status begin(std::uint32_t timed);
  Status begin_commands();
  Status cut();
  VkCommandBuffer commands() const { return commands_.back(); }
  std::uint32_t number_of(VkBuffer buffer);
  void order(Stage stage, std::span<const Binding> bindings);
  void record(const Barrier& barrier, VkPipelineStageFlags to, VkAccessFlags access);
  Status bind(const Pipeline& pipeline, std::span<const Binding> bindings);
  void timestamp();

  std::shared_ptr<Core> core_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> commands_;
  Submission submission_;
  std::vector<VkDescriptorPool> descriptor_pools_;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::uint32_t timestamps_ = 0, most_timestamps_ = 0;
  HazardTracker hazards_;
  std::vector<VkBuffer> buffers_;  // by the number that hazards know them by
  std::vector<Access> accesses_;
  VkPipeline bound_ = VK_NULL_HANDLE;
  std::uint32_t copies_ = 0;
  std::uint32_t dispatches_ = 0;
  std::uint32_t barriers_ = 0;
  bool is_fresh_ = false;
};

}  // namespace quern::vulkan
