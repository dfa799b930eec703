// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/pools/cache_pool.h"

namespace quern {

CachePool::Free::const_iterator CachePool::find(const Free& free, std::uint64_t bytes) const {
  const std::uint64_t size = (region_bytes(bytes) + page() - 1) / page() * page();
  const auto at = free.lower_bound({size, 0});
  return at == free.end() || at->first == size ? at : free.end();
}

std::optional<MemoryPool::Placed> CachePool::place(std::uint64_t bytes) {
  if (const auto at = find(free_, bytes); at != free_.end()) {
    const std::uint32_t id = at->second;
    free_.erase(at);
    return Placed{regions_[id].address, regions_[id].bytes, id};
  }
  if (const auto at = superfluous(free_, bytes); at != free_.end()) drop(at);
  const auto region = take_region(region_bytes(bytes));
  if (!region) return std::nullopt;
  if (spare_ids_.empty()) {
    spare_ids_.push_back(static_cast<std::uint32_t>(regions_.size()));
    regions_.emplace_back();
  }
  const std::uint32_t id = spare_ids_.back();
  spare_ids_.pop_back();
  regions_[id] = *region;
  return Placed{region->address, region->bytes, id};
}

void CachePool::remove(std::uint32_t id) {
  free_.emplace(key_of(regions_[id]), id);
}

void CachePool::drop(Free::const_iterator region) {
  give_region(regions_[region->second]);
  spare_ids_.push_back(region->second);
  free_.erase(region);
}

void CachePool::release_unused() {
  while (!free_.empty()) drop(free_.begin());
}

}  // namespace quern
