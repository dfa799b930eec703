// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "engine/devices/device_tensor_impl.h"
#include "engine/devices/vulkan/recorder.h"
#include "engine/run/memory_block.h"

namespace quern::vulkan {

// A device buffer and the host's copy of it. Staging buffers are created on first use.
class BufferTensorMemory final : public TensorMemory {
 public:
  static Result<std::unique_ptr<TensorMemory>> create(std::shared_ptr<Core> core,
                                                      std::uint64_t bytes);
  std::byte* host() override { return host_.data(); }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }

 private:
  BufferTensorMemory(std::shared_ptr<Core> core, std::uint64_t bytes)
      : core_(std::move(core)), bytes_(bytes) {}
  Status copy_to_host() override;
  Status copy_to_device() override;
  Result<std::unique_ptr<Recorder>> record_copy(const Buffer& from, const Buffer& to) const;

  std::shared_ptr<Core> core_;
  std::uint64_t bytes_;
  MemoryBlock host_;
  std::shared_ptr<Buffer> buffer_, up_, down_;
  std::unique_ptr<Recorder> up_commands_, down_commands_;
};

}  // namespace quern::vulkan
