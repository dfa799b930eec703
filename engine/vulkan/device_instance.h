// SPDX-License-Identifier: Apache-2.0
// What one session keeps for one program on the device: its arena, staging and recorded commands.
#pragma once

#include <memory>
#include <vector>

#include "engine/cpu/instance.h"
#include "engine/vulkan/recorder.h"
#include "engine/vulkan/weights.h"

namespace quern::vulkan {

class DeviceInstance final : public Instance {
 public:
  static Result<std::unique_ptr<Instance>> create(std::shared_ptr<Core> core,
                                                  std::shared_ptr<const cpu::Program> program);

  Status run(const Call& call) override;
  MutableTensorView output(std::size_t i) const override { return host_->output(i); }
  std::size_t resident_bytes() const override;

 private:
  // Bytes that go up before, or come down after, a submission.
  struct Transfer {
    std::size_t step = 0;
    std::uint64_t staging = 0;  // offset
    std::uint64_t bytes = 0;
  };
  // Steps [first, end) that run in one submission, or on the host (no recorder).
  struct Batch {
    std::size_t first = 0;
    std::size_t end = 0;
    std::unique_ptr<Recorder> recorder;
    std::vector<Transfer> up;
    std::vector<Transfer> down;
  };

  DeviceInstance(std::shared_ptr<Core> core, std::shared_ptr<const cpu::Program> program)
      : core_(std::move(core)), program_(std::move(program)) {}
  void cut_batches();
  void place_transfers();
  Status allocate();
  Result<std::unique_ptr<Recorder>> record(const Batch& batch, bool timed) const;
  Status record_step(const cpu::Step& step, Recorder& recorder) const;
  Range range(const cpu::Operand& operand, std::uint64_t bytes) const;
  Result<Binding> binding(const cpu::Step& step, const BufferUse& use) const;
  Status warm_up();
  Status run_batch(const Batch& batch, Recorder& recorder) const;
  Status run_timed(const Batch& batch, StepListener& listener) const;

  std::shared_ptr<Core> core_;
  std::shared_ptr<const cpu::Program> program_;
  std::unique_ptr<cpu::HostInstance> host_;
  std::shared_ptr<Buffer> arena_, up_, down_;
  std::uint64_t up_bytes_ = 0, down_bytes_ = 0;
  std::vector<Batch> batches_;
};

}  // namespace quern::vulkan
