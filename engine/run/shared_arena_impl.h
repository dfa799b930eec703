// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include <quern/shared_arena.h>

#include "engine/run/memory_block.h"

namespace quern {

struct SharedArena::Impl {
  std::atomic<bool> in_use = false;
  std::atomic<std::uint64_t> runs = 0;  // runs started so far: the contents belong to the last
  std::atomic<std::size_t> bytes = 0;
  MemoryBlock block;  // protected by in_use

  // Takes the arena until the end of the scope, if it is not in use.
  class Use {
   public:
    explicit Use(Impl& arena) : arena_(arena) {
      taken_ = !arena.in_use.exchange(true, std::memory_order_acquire);
    }
    ~Use() {
      if (!taken_) return;
      arena_.bytes.store(arena_.block.size(), std::memory_order_relaxed);
      arena_.in_use.store(false, std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    bool taken() const { return taken_; }

   private:
    Impl& arena_;
    bool taken_;
  };
};

}  // namespace quern
