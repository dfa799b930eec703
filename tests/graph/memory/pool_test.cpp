// SPDX-License-Identifier: Apache-2.0
// Every pool, over a system that watches what it does with memory.
#include "graph/memory/pools/pool.h"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/expect.h"

namespace quern {
namespace {

constexpr std::uint64_t mib = 1 << 20;

// Knows what is open and what has memory; refuses when it is told to.
class WatchedSource final : public PoolSource {
 public:
  explicit WatchedSource(std::uint64_t page) : page_(page), inventor_(page) {}

  std::uint64_t page() const override { return page_; }

  std::optional<std::uint64_t> open(std::uint64_t bytes) override {
    EXPECT_EQ(bytes % page_, 0U);
    if (bytes > most_addresses) return std::nullopt;
    const auto address = inventor_.open(bytes);
    ++opened;
    if (address) open_[*address] = bytes;
    return address;
  }

  void close(std::uint64_t address, std::uint64_t bytes) override {
    EXPECT_EQ(open_[address], bytes);
    open_.erase(address);
    for (auto at = memory_.lower_bound(address);
         at != memory_.end() && at->first < address + bytes;)
      at = memory_.erase(at);
  }

  bool commit(std::uint64_t address, std::uint64_t bytes) override {
    EXPECT_TRUE(is_open(address, bytes));
    EXPECT_EQ(address % page_, 0U);
    EXPECT_EQ(bytes % page_, 0U);
    if (refusals > 0 && refusals-- == 1) return false;
    const auto next = memory_.lower_bound(address);
    EXPECT_TRUE(next == memory_.end() || next->first >= address + bytes) << "memory twice";
    EXPECT_TRUE(next == memory_.begin() || end_of(std::prev(next)) <= address) << "memory twice";
    memory_[address] = bytes;
    return true;
  }

  void decommit(std::uint64_t address, std::uint64_t bytes) override {
    EXPECT_EQ(address % page_, 0U);
    EXPECT_EQ(bytes % page_, 0U);
    EXPECT_TRUE(has_memory(address, bytes)) << "no memory to give back";
    cut(address);
    cut(address + bytes);
    memory_.erase(memory_.lower_bound(address), memory_.lower_bound(address + bytes));
  }

  bool has_memory(std::uint64_t address, std::uint64_t bytes) const {
    std::uint64_t at = address;
    while (at < address + bytes) {
      auto next = memory_.upper_bound(at);
      if (next == memory_.begin() || end_of(--next) <= at) return false;
      at = end_of(next);
    }
    return true;
  }

  std::uint64_t committed() const {
    std::uint64_t sum = 0;
    for (const auto& [address, bytes] : memory_) sum += bytes;
    return sum;
  }
  bool is_empty() const { return open_.empty() && memory_.empty(); }

  int opened = 0;    // times
  int refusals = 0;  // the so-manieth commit from now on is refused
  std::uint64_t most_addresses = std::numeric_limits<std::uint64_t>::max();  // of one open()

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;
  static std::uint64_t end_of(Ranges::const_iterator r) { return r->first + r->second; }

  bool is_open(std::uint64_t address, std::uint64_t bytes) const {
    auto at = open_.upper_bound(address);
    return at != open_.begin() && end_of(--at) >= address + bytes;
  }

  void cut(std::uint64_t at) {
    auto r = memory_.lower_bound(at);
    if (r == memory_.begin() || end_of(--r) <= at) return;
    memory_[at] = end_of(r) - at;
    r->second = at - r->first;
  }

  std::uint64_t page_;
  InventedSource inventor_;
  Ranges open_;
  Ranges memory_;
};

class EveryPool : public ::testing::TestWithParam<const MemoryPoolKind*> {
 protected:
  void open(std::uint64_t page = 64, const MemoryPoolOptions& options = {}) {
    pool_.reset();
    source_ = std::make_unique<WatchedSource>(page);
    pool_ = GetParam()->make(*source_, options);
    live_.clear();
  }

  // False: no memory, and the pool said so properly.
  bool allocate(std::uint64_t bytes, std::uint64_t alignment = 64) {
    auto block = pool_->allocate(bytes, alignment);
    if (!block) {
      EXPECT_EQ(block.error().code(), Code::out_of_memory);
      EXPECT_CONTAINS(std::string(block.error().message()), std::to_string(bytes));
      return false;
    }
    EXPECT_EQ(block->address % alignment, 0U);
    EXPECT_EQ(block->bytes, bytes);
    check_place(*block);
    live_.push_back(*block);
    return true;
  }

  void check_place(const PoolBlock& b) {
    const std::uint64_t bytes = std::max<std::uint64_t>(b.bytes, 1);
    EXPECT_TRUE(source_->has_memory(b.address, bytes));
    for (const PoolBlock& other : live_) {
      if (other.id == b.id) continue;
      EXPECT_TRUE(b.address + bytes <= other.address ||
                  other.address + std::max<std::uint64_t>(other.bytes, 1) <= b.address)
          << b.bytes << " bytes at " << b.address << " overlap " << other.bytes << " at "
          << other.address;
    }
  }

  void free(std::size_t i) {
    pool_->free(live_[i]);
    live_[i] = live_.back();
    live_.pop_back();
  }

  void check_books() {
    const PoolStats& s = pool_->stats();
    std::uint64_t requested = 0, used = 0;
    for (const PoolBlock& b : live_) {
      requested += b.bytes;
      used += b.used;
      EXPECT_GE(b.used, b.bytes);
    }
    EXPECT_EQ(s.now.requested, requested);
    EXPECT_EQ(s.now.used, used);
    EXPECT_EQ(s.live, live_.size());
    EXPECT_EQ(s.now.reserved, source_->committed());
    EXPECT_GE(s.now.reserved, s.now.used);
    EXPECT_GE(s.most.reserved, s.now.reserved);
    EXPECT_LE(s.hits, s.allocations);
    EXPECT_GE(s.internal_fragmentation(), 0);
    EXPECT_LE(s.external_fragmentation(), 1);
  }

  // Random requests of sizes from bytes to megabytes.
  void play(unsigned seed, int events, std::size_t most_live) {
    std::mt19937 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    for (int i = 0; i < events && !HasFailure(); ++i) {
      const std::uint64_t kind = below(16);
      if (live_.size() >= most_live || (kind < 7 && !live_.empty())) {
        free(below(live_.size()));
      } else if (kind == 7 && !live_.empty()) {
        PoolBlock& b = live_[below(live_.size())];
        const PoolBlock before = b;
        if (!pool_->extend(b, b.bytes + below(100'000))) {
          EXPECT_EQ(b.bytes, before.bytes);
        }
        EXPECT_EQ(b.address, before.address);
        check_place(b);
      } else {
        const std::uint64_t bytes = below(std::uint64_t{1} << below(21));
        allocate(bytes, below(8) ? 64 : std::uint64_t{1} << below(14));
      }
      if (i % 64 == 0) check_books();
      if (i % 500 == 499) pool_->trim();
    }
    check_books();
  }

  std::unique_ptr<WatchedSource> source_;
  std::unique_ptr<MemoryPool> pool_;
  std::vector<PoolBlock> live_;
};

TEST_P(EveryPool, KeepsBlocksApart) {
  for (const std::uint64_t page : {64, 4096}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      open(page);
      play(seed, 2000, 1 + seed * 7);
      ASSERT_FALSE(HasFailure()) << "page " << page << ", seed " << seed;
    }
  }
}

TEST_P(EveryPool, GivesEverythingBack) {
  for (const std::uint64_t page : {64, 4096}) {
    open(page);
    play(1, 1000, 50);
    while (!live_.empty()) free(live_.size() - 1);
    pool_->trim();
    check_books();
    EXPECT_EQ(pool_->stats().now.reserved, 0U);
    play(2, 1000, 50);
    pool_.reset();
    EXPECT_TRUE(source_->is_empty());
  }
}

TEST_P(EveryPool, KeepsItsLimit) {
  MemoryPoolOptions options;
  options.limit = 3 * mib;
  for (unsigned seed = 0; seed < 10; ++seed) {
    open(seed % 2 ? 64 : 4096, options);
    play(seed, 2000, 60);
    EXPECT_LE(pool_->stats().most.reserved, options.limit);
    while (!live_.empty()) free(0);
    EXPECT_TRUE(allocate(2 * mib)) << "what is unused does not count";
    EXPECT_FALSE(allocate(2 * mib));
    EXPECT_FALSE(allocate(4 * mib));
    check_books();
  }
}

TEST_P(EveryPool, SurvivesASystemThatRefuses) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    open(4096);
    for (int round = 0; round < 30 && !HasFailure(); ++round) {
      source_->refusals = 1 + round % 5;
      play(seed * 100 + static_cast<unsigned>(round), 40, 30);
    }
    source_->refusals = 0;
    while (!live_.empty()) free(0);
    pool_->trim();
    EXPECT_EQ(source_->committed(), 0U);
  }
}

TEST_P(EveryPool, RunsOutOfAddresses) {
  open(4096);
  source_->most_addresses = mib;
  play(3, 2000, 40);
  EXPECT_FALSE(allocate(2 * mib));
  check_books();
}

TEST_P(EveryPool, AnswersHostileRequests) {
  open();
  const std::uint64_t all = ~std::uint64_t{0};
  EXPECT_TRUE(allocate(0));
  EXPECT_TRUE(allocate(0));
  EXPECT_TRUE(allocate(1));
  EXPECT_FALSE(allocate(all));
  EXPECT_FALSE(allocate(all - 63));
  EXPECT_FALSE(allocate(std::uint64_t{1} << 63));
  EXPECT_FALSE(allocate(1, std::uint64_t{1} << 63));
  for (const std::uint64_t alignment : {std::uint64_t{0}, std::uint64_t{3}, all}) {
    const auto block = pool_->allocate(8, alignment);
    ASSERT_FALSE(block);
    EXPECT_EQ(block.error().code(), Code::invalid_argument);
  }
  EXPECT_FALSE(pool_->extend(live_[0], all));
  EXPECT_TRUE(pool_->extend(live_[0], 0));
  check_books();
}

// More than there are addresses, with every size on the way there.
TEST_P(EveryPool, EndsWithTheAddresses) {
  open(4096);
  std::size_t got = 0;
  for (int round = 0; round < 10; ++round) {
    for (int log2 = 40; log2 <= 60; ++log2)
      for (const std::uint64_t alignment : {std::uint64_t{64}, std::uint64_t{1} << (log2 - 1)})
        got += allocate((std::uint64_t{1} << log2) - 64 * static_cast<unsigned>(round), alignment);
    check_books();
  }
  EXPECT_GT(got, 20U);
  EXPECT_LT(got, 420U);
  while (!live_.empty()) free(0);
  pool_->trim();
  EXPECT_EQ(pool_->stats().now.reserved, 0U);
}

TEST_P(EveryPool, UsesABlockAgain) {
  open();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(allocate(100'000));
    free(0);
  }
  EXPECT_EQ(pool_->stats().hits, 99U);
  EXPECT_EQ(pool_->stats().system_allocations, 1U);
}

INSTANTIATE_TEST_SUITE_P(Pools, EveryPool, ::testing::ValuesIn([] {
                           std::vector<const MemoryPoolKind*> all;
                           for (const MemoryPoolKind& p : pools()) all.push_back(&p);
                           return all;
                         }()),
                         [](const auto& info) {
                           std::string name(info.param->name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Pools, AreFoundByName) {
  EXPECT_EQ(default_pool().name, "best-fit-arena");
  EXPECT_EQ(find_pool("bfc")->name, "bfc");
  EXPECT_EQ(find_pool("none"), nullptr);
  for (const MemoryPoolKind& kind : pools()) {
    InventedSource source;
    EXPECT_EQ(kind.make(source, {})->name(), kind.name);
  }
}

// ---- what is particular to one -----------------------------------------------------------------

class BestFitArenaTest : public EveryPool {};
INSTANTIATE_TEST_SUITE_P(Pools, BestFitArenaTest, ::testing::Values(find_pool("best-fit-arena")));

// Whatever the requests are, reserved memory stays near the most that was in use.
TEST_P(BestFitArenaTest, IsBoundedByWhatWasLive) {
  const auto play_bounded = [&](unsigned seed, int events, std::size_t live, std::uint64_t bytes) {
    open(64);
    std::mt19937 random(seed);
    for (int i = 0; i < events; ++i) {
      if (live_.size() > live || (random() % 2 && !live_.empty()))
        free(random() % live_.size());
      else
        ASSERT_TRUE(allocate(random() % bytes));
      const PoolStats& s = pool_->stats();
      ASSERT_LE(s.most.reserved, s.most.used + std::max(s.most.used / 16, mib / 4));
    }
  };
  for (unsigned seed = 0; seed < 20; ++seed) play_bounded(seed, 3000, 30, 8 * mib);
  play_bounded(1, 8000, 10'000, 64 << 10);
}

// Many small holes pay for a large block.
TEST_P(BestFitArenaTest, EveryHolePays) {
  open(4096);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(allocate(8192));
  for (std::size_t i = 2000; i >= 2; i -= 2) free(i - 2);
  ASSERT_TRUE(allocate(8 * mib));
  const PoolStats& s = pool_->stats();
  EXPECT_LE(s.most.reserved, s.most.used + s.most.used / 16 + 4096);
}

TEST_P(BestFitArenaTest, TrimLeavesWhatIsUsed) {
  open(64);
  play(5, 1500, 60);
  pool_->trim();
  EXPECT_EQ(pool_->stats().now.reserved, pool_->stats().now.used);
}

TEST_P(BestFitArenaTest, GrowsTheLastBlockInPlace) {
  open(4096);
  ASSERT_TRUE(allocate(1000));
  ASSERT_TRUE(allocate(1000));
  EXPECT_FALSE(pool_->extend(live_[0], 3000)) << "the second is in the way";
  EXPECT_TRUE(pool_->extend(live_[1], 10 * mib));
  check_place(live_[1]);
  free(1);
  EXPECT_TRUE(pool_->extend(live_[0], 5 * mib));
  check_books();
}

TEST_P(BestFitArenaTest, GrowsToTheLargestBlock) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 60;
  open(4096, {.address_space = 2 * largest});
  ASSERT_TRUE(allocate(1000));
  EXPECT_FALSE(pool_->extend(live_[0], largest + 1));
  EXPECT_TRUE(pool_->extend(live_[0], largest));
  check_books();
}

// The top is found behind more holes than are looked at.
TEST_P(BestFitArenaTest, KeepsToOneStretchOfAddresses) {
  open(4096);
  for (int i = 0; i < 600; ++i) ASSERT_TRUE(allocate(64 << 10));
  for (std::size_t i = 600; i >= 2; i -= 2) free(i - 2);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(allocate(mib));
  EXPECT_EQ(source_->opened, 1);
}

TEST(BfcPool, GrowsByPowersOfTwoAndCutsLargeChunks) {
  InventedSource source;
  const auto pool = find_pool("bfc")->make(source, {});
  const auto reserved = [&] { return pool->stats().now.reserved; };
  const auto allocate = [&](std::uint64_t bytes) { return pool->allocate(bytes).value(); };
  const PoolBlock first = allocate(100);
  EXPECT_EQ(reserved(), mib);
  EXPECT_EQ(first.used, 256U);
  allocate(mib);
  EXPECT_EQ(reserved(), 3 * mib) << "the second region is twice the first";
  const PoolBlock large = allocate(5 * mib);
  EXPECT_EQ(reserved(), 11 * mib) << "doubled until it was large enough";
  EXPECT_EQ(large.used, 8 * mib) << "less than twice the request is not cut";
}

TEST(TlsfPool, FindsTheSameSizeAgain) {
  InventedSource source;
  const auto pool = find_pool("tlsf")->make(source, {});
  for (const std::uint64_t bytes : {100'000u, 99'999u, 1'234'567u}) {
    const PoolBlock block = pool->allocate(bytes).value();
    pool->free(block);
    EXPECT_EQ(pool->allocate(bytes).value().address, block.address);
  }
}

TEST(SizeClassPools, RoundUp) {
  InventedSource source;
  const auto used = [&](std::string_view pool, std::uint64_t bytes) {
    return find_pool(pool)->make(source, {})->allocate(bytes).value().used;
  };
  EXPECT_EQ(used("size-classes", 1024), 1024U);
  EXPECT_EQ(used("size-classes", 1025), 1280U);
  EXPECT_EQ(used("power-of-two", 1025), 2048U);
  EXPECT_EQ(used("exact-shape-cache", 1025), 1088U);
}

TEST(ExactShapeCache, LeavesOtherSizesAlone) {
  InventedSource source;
  const auto pool = find_pool("exact-shape-cache")->make(source, {});
  const PoolBlock large = pool->allocate(1024).value();
  pool->free(large);
  const PoolBlock small = pool->allocate(512).value();
  EXPECT_EQ(small.used, 512U);
  EXPECT_EQ(pool->allocate(1024).value().address, large.address);
}

TEST(BudgetListPool, HandsOutWholeBlocksAndDropsTheSmallest) {
  InventedSource source;
  const auto pool = find_pool("budget-list")->make(source, {});
  std::vector<PoolBlock> blocks;
  for (std::uint64_t i = 1; i <= 10; ++i) blocks.push_back(pool->allocate(i * 6400).value());
  std::ranges::reverse(blocks);
  for (const PoolBlock& b : blocks) pool->free(b);
  EXPECT_EQ(pool->allocate(100).value().used, 64000U) << "the one that was freed first";
  pool->free(pool->allocate(6400).value());
  const std::uint64_t before = pool->stats().now.reserved;
  EXPECT_EQ(pool->allocate(640'000).value().used, 640'000U);
  EXPECT_EQ(pool->stats().now.reserved, before + 640'000) << "nine idle ones are kept";
}

}  // namespace
}  // namespace quern
