// SPDX-License-Identifier: Apache-2.0
// The rule of ncnn's pool allocator, for comparison: the region that was freed first among those
// that are large enough is handed out whole. When ten lie idle and none will do, the smallest is
// dropped.
#include <algorithm>

#include "graph/memory/pools/cache_pool.h"
#include "graph/memory/pools/pools.h"

namespace quern {
namespace {

class BudgetList final : public CachePool {
 public:
  BudgetList(PoolSource& source, const MemoryPoolOptions& options)
      : CachePool("budget-list", source, options) {}

 private:
  static constexpr std::size_t idle_most = 10;

  std::uint64_t key_of(const Region&) override { return ++frees_; }

  Free::const_iterator find(const Free& free, std::uint64_t bytes) const override {
    return std::ranges::find_if(free,
                                [&](const auto& f) { return region(f.second).bytes >= bytes; });
  }

  Free::const_iterator superfluous(const Free& free, std::uint64_t) const override {
    if (free.size() < idle_most) return free.end();
    return std::ranges::min_element(free, {},
                                    [&](const auto& f) { return region(f.second).bytes; });
  }

  std::uint64_t frees_ = 0;
};

}  // namespace

std::unique_ptr<MemoryPool> make_budget_list(PoolSource& source, const MemoryPoolOptions& options) {
  return std::make_unique<BudgetList>(source, options);
}

}  // namespace quern
