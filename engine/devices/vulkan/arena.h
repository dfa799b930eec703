// SPDX-License-Identifier: Apache-2.0
// The memory that all programs of a session run in: one buffer for the results of their steps, and
// one each for what goes up and comes down.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/devices/vulkan/core.h"
#include "engine/run/device_arena.h"

namespace quern::vulkan {

class Arena final : public DeviceArena {
 public:
  Arena(std::shared_ptr<Core> core, Growth growth) : DeviceArena(growth), core_(std::move(core)) {}

  std::size_t arena_bytes() const override { return held(Buffer::Use::device); }
  std::size_t staging_bytes() const override {
    return held(Buffer::Use::upload) + held(Buffer::Use::download);
  }
  void release() override;
  // Makes room for `bytes`. A buffer that is too small is freed before the larger one is made, so
  // that there is never more than the larger one; if there is no memory for that, one as it was is
  // made again. Errors: out_of_memory.
  Status reserve(Buffer::Use use, std::uint64_t bytes);
  // Null if no bytes were asked for, or after release().
  const Buffer* buffer(Buffer::Use use) const { return at(use).get(); }

 private:
  const std::shared_ptr<Buffer>& at(Buffer::Use use) const {
    return buffers_[static_cast<std::size_t>(use)];
  }
  std::uint64_t held(Buffer::Use use) const { return at(use) ? at(use)->bytes() : 0; }

  std::shared_ptr<Core> core_;
  std::array<std::shared_ptr<Buffer>, 3> buffers_;  // by use
};

}  // namespace quern::vulkan
