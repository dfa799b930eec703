// SPDX-License-Identifier: Apache-2.0
// Constants of a model in device memory: a few blocks, divided into slices.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/devices/vulkan/core.h"

namespace quern::vulkan {

// A part of a block. A block lives as long as any of its slices.
struct Slice {
  std::shared_ptr<Buffer> block;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

class Weights {
 public:
  explicit Weights(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  // Returns the constant of this key; its bytes are on the device after the next upload(). Any
  // thread.
  Result<std::shared_ptr<const Slice>> find_or_make(const GpuConstant& constant);
  // Copies all new constants to the device in one submission.
  Status upload();
  std::size_t bytes() const;

 private:
  Result<Slice> allocate(std::uint64_t bytes);
  Status write(const Slice& slice, const GpuConstant& constant);
  Status upload_locked();

  struct Pending {
    std::shared_ptr<Buffer> staging;
    Slice slice;
  };
  std::shared_ptr<Core> core_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::weak_ptr<const Slice>> slices_;
  std::shared_ptr<Buffer> block_;  // the block that new slices are taken from
  std::uint64_t used_ = 0;         // bytes of block_ in use
  std::vector<Pending> pending_;
  std::uint64_t pending_bytes_ = 0;
};

}  // namespace quern::vulkan
