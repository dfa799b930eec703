// SPDX-License-Identifier: Apache-2.0
// A block is used again only for a request of exactly its size: right for shapes that repeat,
// endless for shapes that do not.
#include "graph/memory/pools/cache_pool.h"
#include "graph/memory/pools/pools.h"

namespace quern {
namespace {

class ExactShapeCache final : public CachePool {
 public:
  ExactShapeCache(PoolSource& source, const MemoryPoolOptions& options)
      : CachePool("exact-shape-cache", source, options) {}
};

}  // namespace

std::unique_ptr<MemoryPool> make_exact_shape_cache(PoolSource& source,
                                                   const MemoryPoolOptions& options) {
  return std::make_unique<ExactShapeCache>(source, options);
}

}  // namespace quern
