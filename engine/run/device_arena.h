// SPDX-License-Identifier: Apache-2.0
// Memory of a device in which programs run one at a time: those of all plans of a session, or of
// sessions that share it. It is as large as the largest of them needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/run/memory_block.h"

namespace quern {

// One thread at a time, while no run in it is in progress.
class DeviceArena {
 public:
  // How much is allocated where more is needed than there is: an eighth more than before, so that
  // shapes that grow from run to run move it seldom; or just what is needed.
  enum class Growth : std::uint8_t { ahead, exact };

  explicit DeviceArena(Growth growth) : growth_(growth) {}
  virtual ~DeviceArena() = default;
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;

  // Bytes for the results of steps, and for transfers between host and device.
  virtual std::size_t arena_bytes() const = 0;
  virtual std::size_t staging_bytes() const { return 0; }
  std::size_t bytes() const { return arena_bytes() + staging_bytes(); }
  // Gives all memory back; the next run in it allocates again.
  virtual void release() = 0;
  // Counts how often memory was taken or given back: what a context knew of an earlier one is void.
  std::uint64_t generation() const { return generation_; }

 protected:
  void note_move() { ++generation_; }
  // The bytes to allocate in the place of `held`, of which `wanted` are needed.
  std::uint64_t grown(std::uint64_t held, std::uint64_t wanted) const {
    return growth_ == Growth::exact ? wanted : std::max(wanted, held + held / 8);
  }

 private:
  Growth growth_;
  std::uint64_t generation_ = 0;
};

// In memory of the process, for devices that have none of their own.
class HostDeviceArena final : public DeviceArena {
 public:
  using DeviceArena::DeviceArena;

  std::size_t arena_bytes() const override { return block_.size(); }
  void release() override {
    block_.release();
    note_move();
  }
  // Returns false if the system has no memory. The contents are lost if it was smaller.
  bool reserve(std::size_t bytes) {
    if (block_.data() && bytes <= block_.size()) return true;
    const std::size_t before = block_.size();
    note_move();
    if (block_.reserve(grown(before, bytes)) || block_.reserve(bytes)) return true;
    if (before) (void)block_.reserve(before - 1);  // as it was
    return false;
  }
  std::byte* data() const { return block_.data(); }

 private:
  MemoryBlock block_;
};

}  // namespace quern
