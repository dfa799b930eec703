// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <quern/device.h>
#include <quern/shared_arena.h>

#include "engine/run/device_arena.h"
#include "engine/run/memory_block.h"

namespace quern {

struct SharedArena::Impl {
  std::atomic<bool> in_use = false;
  std::atomic<std::uint64_t> runs = 0;  // runs started so far: the contents belong to the last
  std::atomic<std::size_t> bytes = 0;
  MemoryBlock block;  // protected by in_use

  // The arena on a device, which `make` makes for the first session there. Any thread.
  template <class F>
  std::shared_ptr<DeviceArena> on_device(const std::shared_ptr<Device>& device, const F& make) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [known, arena] : devices_)
      if (known == device) return arena;
    devices_.emplace_back(device, make());
    return devices_.back().second;
  }
  // Of the host and of all devices; who calls these has the arena.
  std::size_t held() {
    const std::scoped_lock lock(mutex_);
    std::size_t sum = block.size();
    for (const auto& [device, arena] : devices_) sum += arena->bytes();
    return sum;
  }
  void release() {
    const std::scoped_lock lock(mutex_);
    block.release();
    for (const auto& [device, arena] : devices_) arena->release();
  }

  // Takes the arena until the end of the scope, if it is not in use.
  class Use {
   public:
    explicit Use(Impl& arena) : arena_(arena) {
      taken_ = !arena.in_use.exchange(true, std::memory_order_acquire);
    }
    ~Use() {
      if (!taken_) return;
      arena_.bytes.store(arena_.held(), std::memory_order_relaxed);
      arena_.in_use.store(false, std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    bool taken() const { return taken_; }

   private:
    Impl& arena_;
    bool taken_;
  };

 private:
  std::mutex mutex_;  // protects the list
  std::vector<std::pair<std::shared_ptr<Device>, std::shared_ptr<DeviceArena>>> devices_;
};

}  // namespace quern
