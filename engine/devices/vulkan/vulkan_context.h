// SPDX-License-Identifier: Apache-2.0
// The state that a session keeps for one program on the device: recorded commands. Arena and
// staging are those of the session.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/devices/cpu/host_context.h"
#include "engine/devices/vulkan/arena.h"
#include "engine/devices/vulkan/recorder.h"
#include "engine/devices/vulkan/tensor_memory.h"
#include "engine/devices/vulkan/weights.h"

namespace quern::vulkan {

class VulkanContext final : public ExecutionContext {
 public:
  static Result<std::unique_ptr<ExecutionContext>> create(std::shared_ptr<Core> core,
                                                          std::shared_ptr<const Program> program,
                                                          std::shared_ptr<Arena> arena,
                                                          const Stop* stop);

  ~VulkanContext() override;
  Status settle(const Stop* stop) override;
  Status run(const Call& call) override;
  bool can_start() const override;
  bool writes_on_device(std::size_t i) const override { return comes_from_device_[i]; }
  Status start(const Call& call) override;
  bool is_done_within(std::chrono::nanoseconds time) override;
  Status finish(const Call& call) override;
  MutableTensorView output(std::size_t i) const override { return host_->output(i); }
  std::size_t table_bytes() const override;

 private:
  // An upload before a submission, or a download after it.
  struct Transfer {
    std::size_t step = 0;
    std::uint64_t bytes = 0;
    // The offset in staging memory; nullopt: the host accesses the arena directly.
    std::optional<std::uint64_t> staging;
  };
  // Steps [first, end) that run in one submission or on the host.
  struct Batch {
    std::size_t first = 0;
    std::size_t end = 0;
    bool on_host = false;
    std::vector<Transfer> up;
    std::vector<Transfer> down;
  };
  using Clock = std::chrono::steady_clock;
  // A transfer without device commands, as a profile shows it.
  struct Copied {
    std::size_t step;
    Clock::time_point begin, end;
  };
  using HostCopies = std::vector<Copied>;
  class HostCopy;
  // The device tensors that a call is bound to, inputs before outputs; null: on the host.
  using Tensors = std::vector<BufferTensorMemory*>;
  // In pieces of some tens of milliseconds each: for runs that may have to end early, and where all
  // at once could take so long that a system takes the device for stuck.
  enum class Cutting : std::uint8_t { whole, pieces };
  // The buffers of the device tensors that a recording names; null: on the host.
  using TensorBuffers = std::vector<std::weak_ptr<Buffer>>;
  // The commands of all batches, for one set of device tensors.
  struct Recording {
    std::vector<std::uint64_t> key;  // ids of the tensors, and the cutting
    Cutting cutting = Cutting::whole;
    TensorBuffers tensors;
    std::vector<std::unique_ptr<Recorder>> commands;  // null for a batch on the host
    std::uint64_t used = 0;
  };

  VulkanContext(std::shared_ptr<Core> core, std::shared_ptr<const Program> program,
                std::shared_ptr<Arena> arena)
      : core_(std::move(core)), program_(std::move(program)), arena_(std::move(arena)) {}
  void cut_batches();
  void place_transfers(StopCheck& check);
  template <class F>
  void for_each_touched(const Step& step, F&& f) const;
  std::vector<bool> reached_by_host(StopCheck& check) const;
  std::byte* host_place(const Transfer& transfer) const;
  // Makes room in the arena, and finds where transfers pass through staging. If it was stopped, the
  // context is of no more use until it is called again.
  Status take_room(const Stop* stop);
  const Buffer& arena() const { return *arena_->buffer(Buffer::Use::device); }
  // The staging memory of a transfer.
  const Buffer& staging(const Step& step) const;
  void find_direct_operands();
  void take_tensors(const Call& call);
  Cutting cutting_for(const Stop* stop) const;
  // The number of parts of a step's dispatches where the recording is cut in pieces.
  std::uint32_t most_parts(const Step& step) const;
  Base base_of(const Step& step) const;
  Status use_recording(const Stop* stop);
  // If `ends` is not null, the commands are timed, and it receives for each step the number of
  // commands up to its end.
  Result<std::unique_ptr<Recorder>> record(const Batch& batch, Cutting cutting,
                                           std::span<const VkBuffer> tensors,
                                           std::vector<std::uint32_t>* ends,
                                           const Stop* stop) const;
  void record_upload(const Transfer& transfer, std::span<const VkBuffer> tensors,
                     Recorder& recorder) const;
  void record_download(const Transfer& transfer, std::span<const VkBuffer> tensors,
                       Recorder& recorder) const;
  Status record_batches(Recording& recording, const Stop* stop) const;
  Status record_again(const Stop* stop);
  // The buffers of the current tensors; null: on the host.
  std::vector<VkBuffer> tensor_buffers() const;
  // The number in tensors_ of the device tensor that a transfer may read or write; nullopt: it uses
  // host memory.
  std::optional<std::size_t> tensor_number(const Transfer& transfer) const;
  bool is_of_tensor(const Transfer& transfer) const {
    const auto number = tensor_number(transfer);
    return number && tensors_[*number];
  }
  // Returns true if the output is an update whose input is the same tensor, so that the device
  // works on the tensor itself.
  bool is_in_place(std::size_t output, std::span<const VkBuffer> tensors) const;
  // Returns true if this transfer would copy a tensor that the device works on itself.
  bool is_left_out(const Transfer& transfer, std::span<const VkBuffer> tensors) const;
  // Returns true if the dispatch brings to the result what a tensor in place has already.
  bool is_left_out(const Step& step, const Dispatch& work, std::span<const VkBuffer> tensors) const;
  Status record_step(const Step& step, std::span<const VkBuffer> tensors, Recorder& recorder,
                     std::uint32_t parts) const;
  // In the arena, among the constants, or, where a tensor is worked on in place, in its buffer.
  // `tensors` may be empty.
  Range range(const Step::Operand& operand, std::uint64_t bytes,
              std::span<const VkBuffer> tensors = {}) const;
  Result<Binding> binding(const Step& step, const BufferUse& use,
                          std::span<const VkBuffer> tensors) const;
  Status tune() const;
  Result<std::uint32_t> fastest_candidate(const Step& step, const Dispatch& work) const;
  Result<double> time_of(const Step& step, const Dispatch& work, const Dispatch& candidate) const;
  Result<std::vector<Binding>> bindings_of(const Step& step, const Dispatch& work,
                                           std::span<const VkBuffer> tensors = {}) const;
  Status make_pipelines(const Stop* stop);
  Status warm_up() const;
  // The host's part of the transfers: send() before the commands, fetch() after them.
  Status send(const Batch& batch, HostCopies* copies = nullptr) const;
  Status fetch(const Batch& batch, HostCopies* copies = nullptr) const;
  // With `stop`, the pieces of the recording are waited for one by one.
  Status run_batch(const Batch& batch, Recorder& recorder, const Stop* stop) const;
  Status prepare(const Call& call);
  void mark_written();
  Status run_timed(const Batch& batch, StepListener& listener) const;

  std::shared_ptr<Core> core_;
  std::shared_ptr<const Program> program_;
  std::unique_ptr<cpu::HostContext> host_;
  std::shared_ptr<Arena> arena_;
  std::uint64_t generation_ = 0;  // of the arena that the recordings name
  std::uint64_t up_bytes_ = 0, down_bytes_ = 0;
  std::vector<Batch> batches_;
  std::vector<bool> host_reads_;  // by input: a step on the host reads it
  std::vector<bool> is_sent_;     // by input: a step uploads it
  // By output: true if a transfer writes all of it and no step on the host uses it.
  std::vector<bool> comes_from_device_;
  Tensors tensors_;                 // of the current call
  std::vector<std::uint64_t> key_;  // under construction
  std::vector<PipelineRef> pipelines_;
  std::vector<Recording> recordings_;
  std::size_t current_ = 0;
  std::uint64_t clock_ = 0;
  double work_ = 0;  // of all steps on the device
};

}  // namespace quern::vulkan
