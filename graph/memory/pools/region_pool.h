// SPDX-License-Identifier: Apache-2.0
// A pool that cuts blocks from regions and joins what comes back with its neighbours. Which free
// chunk a block gets, how it is cut and how large a region is are the rules of a kind.
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
  // Bytes for a block, at least `bytes`.
  virtual std::uint64_t block_bytes(std::uint64_t bytes) const { return bytes; }
  virtual bool splits(std::uint64_t chunk_bytes, std::uint64_t bytes) const {
    return chunk_bytes > bytes;
  }
  // Of a new region for a block, and that one was made.
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
