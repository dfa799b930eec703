// SPDX-License-Identifier: Apache-2.0
// A pool that cuts blocks from regions and merges freed blocks with free neighbours. Subclasses
// choose the free chunk for a block, how it is split, and the size of regions.
#pragma once

#include "graph/memory/pools/chunks.h"
#include "graph/memory/pools/pool.h"

namespace quern {

class RegionPool : public MemoryPool {
 protected:
  using MemoryPool::MemoryPool;

  // The index of free chunks.
  virtual void enter(std::uint32_t id) = 0;
  virtual void leave(std::uint32_t id) = 0;
  virtual std::uint32_t find(std::uint64_t bytes) const = 0;  // or no_chunk
  // The rounded size of a block, at least `bytes`.
  virtual std::uint64_t block_bytes(std::uint64_t bytes) const { return bytes; }
  virtual bool splits(std::uint64_t chunk_bytes, std::uint64_t bytes) const {
    return chunk_bytes > bytes;
  }
  // The size of a new region for a block; on_region() is called when one was made.
  virtual std::uint64_t region_bytes(std::uint64_t bytes) const { return bytes; }
  virtual void on_region(std::uint64_t) {}

  const Chunks& chunks() const { return chunks_; }

 private:
  std::optional<Placed> place(std::uint64_t bytes) final;
  void remove(std::uint32_t id) final;
  void release_unused() final;
  std::uint32_t add_region(std::uint64_t bytes);

  Chunks chunks_;
};

}  // namespace quern
