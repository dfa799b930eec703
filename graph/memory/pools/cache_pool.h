// SPDX-License-Identifier: Apache-2.0
// A pool of whole regions: each holds one block, is kept when free, and is never split.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "graph/memory/pools/pool.h"

namespace quern {

class CachePool : public MemoryPool {
 protected:
  using MemoryPool::MemoryPool;

  // Bytes of the region for a new block; at least `bytes`.
  virtual std::uint64_t region_bytes(std::uint64_t bytes) const { return bytes; }
  // Free regions, in the order of a key and then of their ids.
  using Free = std::pmr::set<std::pair<std::uint64_t, std::uint32_t>>;
  virtual std::uint64_t key_of(const Region& region) { return region.bytes; }
  // A free region to use, or end().
  virtual Free::const_iterator find(const Free& free, std::uint64_t bytes) const;
  // After a failed search: a region that should be given back, or end().
  virtual Free::const_iterator superfluous(const Free& free, std::uint64_t) const {
    return free.end();
  }

  const Region& region(std::uint32_t id) const { return regions_[id]; }

 private:
  std::optional<Placed> place(std::uint64_t bytes) final;
  void remove(std::uint32_t id) final;
  void release_unused() final;
  void drop(Free::const_iterator region);

  std::vector<Region> regions_;  // by id
  std::vector<std::uint32_t> spare_ids_;
  Free free_{nodes()};
};

}  // namespace quern
