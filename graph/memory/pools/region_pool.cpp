// SPDX-License-Identifier: Apache-2.0
#include "graph/memory/pools/region_pool.h"

namespace quern {

// A smaller region than the rule wants will do where the system has no more.
std::uint32_t RegionPool::add_region(std::uint64_t bytes) {
  const std::uint64_t wanted = region_bytes(bytes);
  auto region = take_region(wanted);
  if (!region && wanted > bytes) region = take_region(bytes);
  if (!region) return no_chunk;
  on_region(wanted);
  const std::uint32_t id = chunks_.add(region->address, region->bytes);
  enter(id);
  return id;
}

std::optional<MemoryPool::Placed> RegionPool::place(std::uint64_t bytes) {
  const std::uint64_t wanted = block_bytes(bytes);
  std::uint32_t id = find(wanted);
  if (id == no_chunk) id = add_region(wanted);
  if (id == no_chunk) return std::nullopt;
  leave(id);
  if (splits(chunks_[id].bytes, wanted)) enter(chunks_.split(id, wanted));
  chunks_[id].is_free = false;
  return Placed{chunks_[id].address, chunks_[id].bytes, id};
}

void RegionPool::remove(std::uint32_t id) {
  chunks_[id].is_free = true;
  if (const std::uint32_t after = chunks_[id].after; after != no_chunk && chunks_[after].is_free) {
    leave(after);
    chunks_.join_after(id);
  }
  const std::uint32_t before = chunks_[id].before;
  if (before != no_chunk && chunks_[before].is_free) {
    leave(before);
    chunks_.join_after(before);
    id = before;
  }
  enter(id);
}

void RegionPool::release_unused() {
  for (std::uint32_t id = 0; id < chunks_.end_id(); ++id) {
    const Chunk& c = chunks_[id];
    if (!c.bytes || !c.is_free || !c.is_region()) continue;
    leave(id);
    give_region({c.address, c.bytes});
    chunks_.remove(id);
  }
}

}  // namespace quern
