// SPDX-License-Identifier: Apache-2.0
// Memory for what no plan can know: blocks that are asked for and given back while a model runs,
// cut from memory that a pool takes from the system and keeps.
//
// Addresses are numbers. A run uses real ones, a replay of a trace invents them, and a pool cannot
// tell: it never touches the memory.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string_view>

#include <quern/status.h>

namespace quern {

// The system that a pool takes memory from.
class PoolSource {
 public:
  virtual ~PoolSource() = default;
  // Everything below is in whole pages: a power of two, at least MemoryPool::granule.
  virtual std::uint64_t page() const = 0;
  // Address space without memory, aligned to a page. Nothing: there is none.
  virtual std::optional<std::uint64_t> open(std::uint64_t bytes) = 0;
  // What open() gave, with the memory in it.
  virtual void close(std::uint64_t address, std::uint64_t bytes) = 0;
  // Puts memory behind a part of what was opened. False: there is none.
  virtual bool commit(std::uint64_t address, std::uint64_t bytes) = 0;
  // Takes it away; the contents are lost.
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

// Bytes of the live blocks as asked for, as the pool rounds them, and of the memory behind them.
struct PoolBytes {
  std::uint64_t requested = 0;
  std::uint64_t used = 0;
  std::uint64_t reserved = 0;
};

struct PoolStats {
  PoolBytes now;
  PoolBytes most;          // each at its own time
  PoolBytes fullest;       // when the most memory was reserved, for the first time
  std::uint64_t live = 0;  // blocks
  std::uint64_t allocations = 0;
  std::uint64_t hits = 0;  // allocations that did not ask the system for memory
  std::uint64_t system_allocations = 0;
  std::uint64_t system_releases = 0;

  double hit_rate() const;
  // At the fullest moment: the share of the blocks that is rounding, and the share of the reserved
  // memory that was in no block.
  double internal_fragmentation() const;
  double external_fragmentation() const;
};

struct MemoryPoolOptions {
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  // of reserved bytes
  // Addresses that a pool which grows in place asks for; it takes less where there is less.
  std::uint64_t address_space = std::uint64_t{1} << 46;
};

struct PoolBlock {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // as asked for
  std::uint64_t used = 0;
  std::uint32_t id = 0;  // in the pool's books
};

// One thread at a time. After a while with requests that repeat, the books of a pool take nothing
// from the heap.
class MemoryPool {
 public:
  // Blocks begin at its multiples.
  static constexpr std::uint64_t granule = 64;

  virtual ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // A block of no bytes has an address of its own too. Before it fails, the pool gives back what it
  // does not use. Errors: invalid_argument (an alignment that is no power of two), out_of_memory.
  Result<PoolBlock> allocate(std::uint64_t bytes, std::uint64_t alignment = granule);
  // Makes the block larger where it lies. False: it stays as it was.
  bool extend(PoolBlock& block, std::uint64_t bytes);
  void free(const PoolBlock& block);
  // Gives the system what no block uses, so far as the pool can.
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
  // The bytes of the block afterwards, or nothing.
  virtual std::optional<std::uint64_t> stretch(std::uint32_t id, std::uint64_t bytes);

  // Memory and address space of the system, counted; nothing where the limit or the system is met.
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
  // Nodes of books come from here and are used again.
  std::pmr::memory_resource* nodes() { return &nodes_; }

 private:
  void note(std::uint64_t system_calls_before);

  std::pmr::unsynchronized_pool_resource nodes_;
  std::string_view name_;
  PoolSource& source_;
  MemoryPoolOptions options_;
  std::uint64_t page_;
  PoolStats stats_;
  std::pmr::map<std::uint64_t, std::uint64_t> opened_{&nodes_};  // address, bytes
};

struct MemoryPoolKind {
  std::string_view name;
  std::string_view summary;
  // `source` outlives the pool.
  std::unique_ptr<MemoryPool> (*make)(PoolSource& source, const MemoryPoolOptions& options);
};
std::span<const MemoryPoolKind> pools();
const MemoryPoolKind& default_pool();
const MemoryPoolKind* find_pool(std::string_view name);  // null: no such one

}  // namespace quern
