// SPDX-License-Identifier: Apache-2.0
// Memory for sizes that no plan knows: blocks that are allocated and freed while a model runs, cut
// from memory that a pool takes from the system and keeps.
//
// Addresses are numbers: real ones in a run, invented ones in the replay of a trace. A pool cannot
// tell the difference, because it never touches the memory.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <quern/status.h>

namespace quern {

// The system from which a pool takes memory.
class PoolSource {
 public:
  virtual ~PoolSource() = default;
  // The page size: a power of two, at least MemoryPool::granule. Everything below is in whole
  // pages.
  virtual std::uint64_t page() const = 0;
  // Reserves address space without memory, aligned to a page; nullopt if there is none.
  virtual std::optional<std::uint64_t> open(std::uint64_t bytes) = 0;
  // Releases a range that open() returned, and the memory in it.
  virtual void close(std::uint64_t address, std::uint64_t bytes) = 0;
  // Backs a part of an opened range with memory; false if there is none.
  virtual bool commit(std::uint64_t address, std::uint64_t bytes) = 0;
  // Takes the memory away; the contents are lost.
  virtual void decommit(std::uint64_t address, std::uint64_t bytes) = 0;
};

// Invents addresses, for replays.
class InventedSource final : public PoolSource {
 public:
  explicit InventedSource(std::uint64_t page = 64) : page_(page), next_(page) {}

  std::uint64_t page() const override { return page_; }
  std::optional<std::uint64_t> open(std::uint64_t bytes) override;
  void close(std::uint64_t, std::uint64_t) override {}
  bool commit(std::uint64_t, std::uint64_t) override { return true; }
  void decommit(std::uint64_t, std::uint64_t) override {}

 private:
  std::uint64_t page_;
  std::uint64_t next_;
};

// Bytes of the live blocks as requested and as rounded by the pool, and bytes taken from the
// system.
struct PoolBytes {
  std::uint64_t requested = 0;
  std::uint64_t used = 0;
  std::uint64_t reserved = 0;
};

struct PoolStats {
  PoolBytes now;
  PoolBytes most;          // maximum of each, at different times
  PoolBytes fullest;       // when `reserved` first reached its maximum
  std::uint64_t live = 0;  // blocks
  std::uint64_t allocations = 0;
  std::uint64_t hits = 0;  // allocations that took no memory from the system
  std::uint64_t system_allocations = 0;
  std::uint64_t system_releases = 0;

  double hit_rate() const;
  // Both at the time of `fullest`: the share of the blocks that is rounding, and the share of the
  // reserved memory that is in no block.
  double internal_fragmentation() const;
  double external_fragmentation() const;
};

struct MemoryPoolOptions {
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  // of reserved bytes
  // Address space that a pool that grows in place reserves; it takes less if less is available.
  std::uint64_t address_space = std::uint64_t{1} << 46;
};

struct PoolBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // as requested
  std::uint64_t used = 0;
  std::uint32_t id = 0;  // assigned by the pool
};

// For one thread at a time. Once requests repeat, the bookkeeping of a pool allocates nothing from
// the heap.
class MemoryPool {
 public:
  // Addresses of blocks are multiples of it.
  static constexpr std::uint64_t granule = 64;

  virtual ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // A block of 0 bytes has an address of its own too. Before it fails, the pool gives unused memory
  // back to the system. Errors: invalid_argument (the alignment is not a power of two),
  // out_of_memory.
  Result<PoolBlock> allocate(std::uint64_t bytes, std::uint64_t alignment = granule);
  // Enlarges the block in place; if it returns false, the block is unchanged.
  bool extend(PoolBlock& block, std::uint64_t bytes);
  void free(const PoolBlock& block);
  // Gives unused memory back to the system, as far as the pool can.
  void trim();

  void set_limit(std::uint64_t bytes) { options_.limit = bytes; }
  std::string_view name() const { return name_; }
  const PoolStats& stats() const { return stats_; }

 protected:
  struct Placed {
    std::uint64_t address = 0;
    std::uint64_t used = 0;
    std::uint32_t id = 0;
  };

  MemoryPool(std::string_view name, PoolSource& source, const MemoryPoolOptions& options);

  // `bytes` is a positive multiple of the granule, here and below.
  virtual std::optional<Placed> place(std::uint64_t bytes) = 0;
  virtual void remove(std::uint32_t id) = 0;
  virtual void release_unused() = 0;
  // Enlarges a block in place; returns its new size, or nullopt.
  virtual std::optional<std::uint64_t> stretch(std::uint32_t id, std::uint64_t bytes);

  // Take and return memory and address space, with statistics; they fail at the limit or if the
  // system has none.
  std::optional<std::uint64_t> open(std::uint64_t bytes);
  void close(std::uint64_t address);
  bool commit(std::uint64_t address, std::uint64_t bytes);
  void decommit(std::uint64_t address, std::uint64_t bytes);
  // A region of memory, in whole pages.
  struct Region {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::optional<Region> take_region(std::uint64_t bytes);
  void give_region(const Region& region);

  std::uint64_t page() const { return page_; }
  const MemoryPoolOptions& options() const { return options_; }
  // Allocator for the nodes of the pool's containers; recycles them.
  std::pmr::memory_resource* nodes() { return &nodes_; }

 private:
  void note(std::uint64_t system_calls_before);

  std::pmr::unsynchronized_pool_resource nodes_;
  std::string_view name_;
  PoolSource& source_;
  MemoryPoolOptions options_;
  std::uint64_t page_;
  PoolStats stats_;
  using Opened = std::map<std::uint64_t, std::uint64_t>;  // address, bytes
  Opened opened_;
  std::vector<Opened::node_type> closed_;  // of what was closed, for what will be opened
};

struct MemoryPoolKind {
  std::string_view name;
  std::string_view summary;
  // `source` must outlive the pool.
  std::unique_ptr<MemoryPool> (*make)(PoolSource& source, const MemoryPoolOptions& options);
};
std::span<const MemoryPoolKind> pools();
const MemoryPoolKind& default_pool();
const MemoryPoolKind* find_pool(std::string_view name);  // null if there is none

}  // namespace quern
