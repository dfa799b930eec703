// SPDX-License-Identifier: Apache-2.0
// Records copies and dispatches in order, with the barriers between them, once for any number of
// submissions: in one command buffer, unless the options of the device limit its length.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/devices/vulkan/core.h"
#include "engine/devices/vulkan/hazards.h"
#include "engine/vocabulary/stop.h"

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
  // The times of the device's clock at both ends of a command, in nanoseconds from an arbitrary
  // origin.
  struct Interval {
    double begin = 0, end = 0;
  };

  // Each of the first `timed` commands is timed, if the device has a clock.
  static Result<std::unique_ptr<Recorder>> create(std::shared_ptr<Core> core,
                                                  std::uint32_t timed = 0);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Orders the commands that follow after all earlier submissions: their writes are visible, and
  // their reads are done.
  void acquire();
  void copy(const Range& from, const Range& to);
  // Writes zeros; offset and bytes are multiples of 4.
  void clear(const Range& range);
  // `work.buffers` are already resolved to `bindings`, by binding. In about so many `parts` of its
  // workgroups, between which the recording is cut: fewer where the grid has no axis to be divided.
  // More than one takes Base::any.
  Status dispatch(const Dispatch& work, std::span<const Binding> bindings, Base base = Base::zero,
                  std::uint32_t parts = 1);
  // One workgroup of what dispatch() would record, so that the driver generates its code.
  Status dispatch_one(const Dispatch& work, std::span<const Binding> bindings, Base base);
  // Ends a piece of the recording: what follows is a submission of its own.
  Status cut();
  // Ends the recording and makes all writes visible to the host.
  Status finish();

  // Submits all commands to the device; only one submission at a time.
  Status start();
  // Waits until the submission is done. Errors: busy if it is not done after `nanoseconds`; it then
  // continues.
  Status wait(std::uint64_t nanoseconds = ~std::uint64_t{0});
  Status submit() {
    QUERN_TRY(start());
    return wait();
  }
  // Submits the pieces by turns (turns.h), and waits for each turn. Errors: those of stop.check()
  // after one; then nothing is under way.
  Status submit_in_pieces(const Stop& stop);
  // The intervals of the timed commands in the last submission, in order.
  Result<std::vector<Interval>> intervals() const;

  // The number of copies (empty copies not counted), clears and dispatches recorded so far.
  std::uint32_t commands_recorded() const { return copies_ + dispatches_; }
  std::uint32_t dispatches() const { return dispatches_; }
  std::uint32_t barriers() const { return barriers_; }
  // Returns true if it uses a pipeline that no submission has run yet.
  bool is_fresh() const { return is_fresh_; }

 private:
  explicit Recorder(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  Status begin(std::uint32_t timed);
  Status begin_commands();
  VkCommandBuffer commands() const { return commands_.back(); }
  std::uint32_t number_of(VkBuffer buffer);
  void order(Stage stage, std::span<const Binding> bindings);
  void record(const Barrier& barrier, VkPipelineStageFlags to, VkAccessFlags access);
  Status bind(const Pipeline& pipeline, std::span<const Binding> bindings);
  Result<PipelineRef> pipeline_of(const Dispatch& work, std::span<const Binding> bindings,
                                  Base base);
  Status dispatch_groups(const Dispatch& work, const Pipeline& pipeline,
                         std::span<const Binding> bindings,
                         const std::array<std::uint32_t, 3>& first,
                         const std::array<std::uint32_t, 3>& groups);
  void timestamp();

  std::shared_ptr<Core> core_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> commands_;
  Submission submission_;
  std::vector<VkDescriptorPool> descriptor_pools_;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  std::uint32_t timestamps_ = 0, most_timestamps_ = 0;
  HazardTracker hazards_;
  std::vector<VkBuffer> buffers_;  // by the number that hazards_ uses
  std::vector<Access> accesses_;
  VkPipeline bound_ = VK_NULL_HANDLE;
  std::set<PipelineRef> pipelines_;  // that the commands use
  std::uint32_t copies_ = 0;         // and clears
  std::uint32_t dispatches_ = 0;
  std::uint32_t barriers_ = 0;
  bool is_fresh_ = false;
};

}  // namespace quern::vulkan
