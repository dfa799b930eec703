// SPDX-License-Identifier: Apache-2.0
// The common part of all pools, and their table: a new pool needs a file and a row.
#include "graph/memory/pools/pool.h"

#include <algorithm>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/memory/pools/pools.h"

namespace quern {
namespace {

constexpr MemoryPoolKind pool_table[] = {
    // the default first
    {"best-fit-arena", "one arena that grows in place, best fit; holes pay for its growth",
     make_best_fit_arena},
    {"best-fit-arena-kept", "the same, but holes stay reserved", make_kept_best_fit_arena},
    {"bfc", "best fit in regions that grow to the next power of two", make_bfc},
    {"bfc-as-requested", "best fit in regions as large as the request", make_bfc_as_requested},
    {"tlsf", "two-level segregated fit: constant time", make_tlsf},
    {"size-classes", "a free list a class of sizes, four classes a doubling", make_size_classes},
    {"power-of-two", "a free list a power of two", make_power_of_two},
    {"exact-shape-cache", "blocks are used again for exactly their size", make_exact_shape_cache},
    {"budget-list", "the first cached block that is large enough, whole", make_budget_list},
};

// More than any machine has; sums of a few of them do not overflow.
constexpr std::uint64_t largest = std::uint64_t{1} << 60;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::span<const MemoryPoolKind> pools() {
  return pool_table;
}

const MemoryPoolKind& default_pool() {
  return pool_table[0];
}

const MemoryPoolKind* find_pool(std::string_view name) {
  for (const MemoryPoolKind& p : pool_table)
    if (p.name == name) return &p;
  return nullptr;
}

std::optional<std::uint64_t> InventedSource::open(std::uint64_t bytes) {
  if (bytes > std::numeric_limits<std::uint64_t>::max() - page_ - next_) return std::nullopt;
  const std::uint64_t address = next_;
  next_ += bytes + page_;  // what lies side by side is never taken for one
  return address;
}

double PoolStats::hit_rate() const {
  return allocations ? share(hits, allocations) : 1;
}

double PoolStats::internal_fragmentation() const {
  return share(fullest.used - fullest.requested, fullest.used);
}

double PoolStats::external_fragmentation() const {
  return share(fullest.reserved - fullest.used, fullest.reserved);
}

MemoryPool::MemoryPool(std::string_view name, PoolSource& source, const MemoryPoolOptions& options)
    : name_(name), source_(source), options_(options), page_(source.page()) {}

MemoryPool::~MemoryPool() {
  for (const auto& [address, bytes] : opened_) source_.close(address, bytes);
}

// ---- blocks ------------------------------------------------------------------------------------

Result<PoolBlock> MemoryPool::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0)
    return Status(Code::invalid_argument,
                  cat("pool ", name_, ": alignment ", alignment, " is no power of two"));
  const std::uint64_t slack = alignment > granule ? alignment - granule : 0;
  std::optional<Placed> placed;
  const std::uint64_t calls = stats_.system_allocations;
  if (bytes <= largest && slack <= largest) {
    const std::uint64_t wanted = round_up(std::max<std::uint64_t>(bytes, 1), granule) + slack;
    placed = place(wanted);
    if (!placed) {
      release_unused();
      placed = place(wanted);
    }
  }
  if (!placed)
    return Status(Code::out_of_memory,
                  cat("pool ", name_, ": no ", bytes, " bytes: ", stats_.now.used, " are in use, ",
                      options_.limit == MemoryPoolOptions().limit
                          ? std::string("and the system has no more")
                          : cat("and the limit is ", options_.limit)));
  stats_.now.requested += bytes;
  stats_.now.used += placed->used;
  ++stats_.live;
  ++stats_.allocations;
  note(calls);
  return PoolBlock{round_up(placed->address, alignment), bytes, placed->used, placed->id};
}

bool MemoryPool::extend(PoolBlock& block, std::uint64_t bytes) {
  if (bytes <= block.bytes || bytes > largest) return bytes <= block.bytes;
  const std::uint64_t calls = stats_.system_allocations;
  // The padding before an aligned block is a part of it.
  const std::uint64_t more = round_up(bytes, granule) - round_up(block.bytes, granule);
  const auto used = stretch(block.id, block.used + more);
  if (!used) return false;
  stats_.now.requested += bytes - block.bytes;
  stats_.now.used += *used - block.used;
  block.bytes = bytes;
  block.used = *used;
  ++stats_.allocations;
  note(calls);
  return true;
}

void MemoryPool::free(const PoolBlock& block) {
  remove(block.id);
  stats_.now.requested -= block.bytes;
  stats_.now.used -= block.used;
  --stats_.live;
}

void MemoryPool::trim() {
  release_unused();
}

std::optional<std::uint64_t> MemoryPool::stretch(std::uint32_t, std::uint64_t) {
  return std::nullopt;
}

void MemoryPool::note(std::uint64_t system_calls_before) {
  if (stats_.system_allocations == system_calls_before) ++stats_.hits;
  stats_.most.requested = std::max(stats_.most.requested, stats_.now.requested);
  stats_.most.used = std::max(stats_.most.used, stats_.now.used);
  if (stats_.now.reserved <= stats_.most.reserved) return;
  stats_.most.reserved = stats_.now.reserved;
  stats_.fullest = stats_.now;
}

// ---- the system --------------------------------------------------------------------------------

std::optional<std::uint64_t> MemoryPool::open(std::uint64_t bytes) {
  // Calls that may need memory of the heap come first.
  if (closed_.empty()) {
    if (closed_.capacity() <= opened_.size())
      closed_.reserve(2 * (opened_.size() + 1));  // so that close() needs none
    Opened one = {{0, 0}};
    closed_.push_back(one.extract(one.begin()));
  }
  const auto address = source_.open(bytes);
  if (!address) return std::nullopt;
  closed_.back().key() = *address;
  closed_.back().mapped() = bytes;
  opened_.insert(std::move(closed_.back()));
  closed_.pop_back();
  return address;
}

void MemoryPool::close(std::uint64_t address) {
  const auto at = opened_.find(address);
  source_.close(at->first, at->second);
  closed_.push_back(opened_.extract(at));
}

bool MemoryPool::commit(std::uint64_t address, std::uint64_t bytes) {
  if (bytes > options_.limit || stats_.now.reserved > options_.limit - bytes) return false;
  if (!source_.commit(address, bytes)) return false;
  stats_.now.reserved += bytes;
  ++stats_.system_allocations;
  return true;
}

void MemoryPool::decommit(std::uint64_t address, std::uint64_t bytes) {
  if (!bytes) return;
  source_.decommit(address, bytes);
  stats_.now.reserved -= bytes;
  ++stats_.system_releases;
}

std::optional<MemoryPool::Region> MemoryPool::take_region(std::uint64_t bytes) {
  const Region region{0, round_up(bytes, page_)};
  const auto address = open(region.bytes);
  if (!address) return std::nullopt;
  if (commit(*address, region.bytes)) return Region{*address, region.bytes};
  close(*address);
  return std::nullopt;
}

void MemoryPool::give_region(const Region& region) {
  close(region.address);
  stats_.now.reserved -= region.bytes;
  ++stats_.system_releases;
}

}  // namespace quern
