// SPDX-License-Identifier: Apache-2.0
// Requests are rounded up to a class, and a block is used again only for its class. A doubling of
// size is cut into four classes, or is one.
#include <algorithm>
#include <bit>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/pools/cache_pool.h"
#include "graph/memory/pools/pools.h"

namespace quern {
namespace {

class SizeClasses final : public CachePool {
 public:
  SizeClasses(std::string_view name, std::uint64_t steps, PoolSource& source,
              const MemoryPoolOptions& options)
      : CachePool(name, source, options), steps_(steps) {}

 private:
  std::uint64_t region_bytes(std::uint64_t bytes) const override {
    const std::uint64_t step = std::max(std::bit_floor(bytes - 1) / steps_, granule);
    return round_up(bytes, step);
  }

  std::uint64_t steps_;  // of a doubling
};

}  // namespace

std::unique_ptr<MemoryPool> make_size_classes(PoolSource& source,
                                              const MemoryPoolOptions& options) {
  return std::make_unique<SizeClasses>("size-classes", 4, source, options);
}

std::unique_ptr<MemoryPool> make_power_of_two(PoolSource& source,
                                              const MemoryPoolOptions& options) {
  return std::make_unique<SizeClasses>("power-of-two", 1, source, options);
}

}  // namespace quern
