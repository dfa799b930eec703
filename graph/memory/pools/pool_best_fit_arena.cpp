// SPDX-License-Identifier: Apache-2.0
// One arena that grows in place. A block goes to the low end of the smallest hole that holds it.
//
// If none does, the arena grows, and there fragmentation would add up, because the holes stay
// reserved beside the new memory. Therefore holes pay for growth: before memory is taken at one
// place, free pages elsewhere are given back, as many as reserved memory would exceed the peak of
// the used bytes by more than a slack (a sixteenth, at least 256 KiB). Reserved memory is thus
// bounded by the live bytes, whatever the order of requests (except for page borders of holes).
//
// The kept arena, which follows ggml's rule, does not do this: it is for memory of which no part
// can be given back.
//
// A hole has memory in its lower part, [address, backed), and none, "bare", in the rest, which is
// in whole pages. The arena's top is the hole at the end of its address space. Where that is used
// up, or the system has no such stretch of addresses, there are several arenas.
#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "graph/memory/pools/chunks.h"
#include "graph/memory/pools/pools.h"

namespace quern {
namespace {

enum class Holes : std::uint8_t { pay, stay };

class BestFitArena final : public MemoryPool {
 public:
  BestFitArena(std::string_view name, Holes holes, PoolSource& source,
               const MemoryPoolOptions& options)
      : MemoryPool(name, source, options), rule_(holes) {}

 private:
  std::optional<Placed> place(std::uint64_t bytes) override;
  void remove(std::uint32_t id) override;
  void release_unused() override;
  std::optional<std::uint64_t> stretch(std::uint32_t id, std::uint64_t bytes) override;

  std::uint32_t find(std::uint64_t bytes) const;
  std::uint32_t find_to_grow(std::uint64_t bytes) const;
  std::uint32_t add_space(std::uint64_t bytes);
  bool back(std::uint32_t hole, std::uint64_t end);
  void pay(std::uint64_t bytes, std::uint64_t block_bytes);
  std::uint64_t unback(std::uint32_t hole, std::uint64_t bytes);
  void join(std::uint32_t hole);

  std::uint64_t page_down(std::uint64_t address) const { return address / page() * page(); }
  std::uint64_t page_up(std::uint64_t address) const { return page_down(address + page() - 1); }
  // The end of the part of a hole without memory; a page that it shares with the next block has
  // memory.
  std::uint64_t bare_end(std::uint32_t hole) const { return page_down(chunks_[hole].end()); }
  bool is_bare(std::uint32_t hole) const { return backed_[hole] < bare_end(hole); }
  std::uint64_t backed_bytes(std::uint32_t hole) const {
    return backed_[hole] - chunks_[hole].address;
  }
  void set_backed(std::uint32_t hole, std::uint64_t end);

  void make_room();
  void enter(std::uint32_t hole) {
    hole_nodes_[hole].value() = {backed_bytes(hole), chunks_[hole].address, hole};
    holes_.insert(std::move(hole_nodes_[hole]));
  }
  void leave(std::uint32_t hole) {
    hole_nodes_[hole] = holes_.extract({backed_bytes(hole), chunks_[hole].address, hole});
  }

  // Maximum number of holes examined where finding the best one would take a search: bounds the
  // time.
  static constexpr std::size_t most_looks = 64;
  static constexpr std::uint64_t least_slack = 256 << 10;

  Holes rule_;
  Chunks chunks_;
  std::vector<std::uint64_t> backed_;  // by chunk; where a hole's memory ends
  std::vector<std::uint32_t> tops_;    // the last chunk of each address space
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;  // backed, address, chunk
  std::set<Key> holes_;
  std::vector<std::set<Key>::node_type> hole_nodes_;  // by chunk; empty while it is in holes_
};

// For the chunks of one more block, so that no operation stops half-way for want of memory: a space
// of addresses, and what is left of it.
void BestFitArena::make_room() {
  constexpr std::size_t most = 2;
  chunks_.reserve(most);
  tops_.reserve(tops_.size() + 1);
  const std::size_t ids = chunks_.end_id() + most;
  if (backed_.size() < ids) backed_.resize(2 * ids);
  hole_nodes_.reserve(backed_.size());
  while (hole_nodes_.size() < ids) {
    std::set<Key> one;
    one.emplace();
    hole_nodes_.push_back(one.extract(one.begin()));
  }
}

// A hole that is all backed is so to its end.
void BestFitArena::set_backed(std::uint32_t hole, std::uint64_t end) {
  backed_[hole] = end < bare_end(hole) ? end : chunks_[hole].end();
}

std::optional<MemoryPool::Placed> BestFitArena::place(std::uint64_t bytes) {
  make_room();
  std::uint32_t hole = find(bytes);
  if (hole == no_chunk) hole = find_to_grow(bytes);
  if (hole == no_chunk) hole = add_space(bytes);
  if (hole == no_chunk || !back(hole, chunks_[hole].address + bytes)) return std::nullopt;
  leave(hole);
  if (chunks_[hole].bytes > bytes) {
    const std::uint64_t backed = backed_[hole];
    const std::uint32_t rest = chunks_.split(hole, bytes);
    set_backed(rest, std::max(backed, chunks_[rest].address));
    std::ranges::replace(tops_, hole, rest);
    enter(rest);
  }
  chunks_[hole].is_free = false;
  return Placed{chunks_[hole].address, bytes, hole};
}

std::uint32_t BestFitArena::find(std::uint64_t bytes) const {
  const auto at = holes_.lower_bound({bytes, 0, 0});
  return at == holes_.end() ? no_chunk : std::get<2>(*at);
}

// A hole that holds the block if more of it is backed, of those the one that lacks least.
std::uint32_t BestFitArena::find_to_grow(std::uint64_t bytes) const {
  std::uint32_t best = no_chunk;
  const auto consider = [&](std::uint32_t hole) {
    const Chunk& c = chunks_[hole];
    if (!c.is_free || c.bytes < bytes) return;
    if (best == no_chunk || backed_bytes(hole) > backed_bytes(best) ||
        (backed_bytes(hole) == backed_bytes(best) && c.address < chunks_[best].address))
      best = hole;
  };
  std::size_t looks = 0;
  for (auto at = holes_.rbegin(); at != holes_.rend() && looks < most_looks; ++at, ++looks)
    consider(std::get<2>(*at));
  for (std::uint32_t top : tops_) consider(top);
  return best;
}

std::uint32_t BestFitArena::add_space(std::uint64_t bytes) {
  const std::uint64_t least = page_up(bytes);
  std::uint64_t size = std::max(page_up(options().address_space), least);
  auto address = open(size);
  while (!address && size > least) {
    size = std::max(page_up(size / 2), least);
    address = open(size);
  }
  if (!address) return no_chunk;
  const std::uint32_t hole = chunks_.add(*address, size);
  set_backed(hole, *address);
  tops_.push_back(hole);
  enter(hole);
  return hole;
}

// Puts memory behind the hole up to `end`, where a block will end.
bool BestFitArena::back(std::uint32_t hole, std::uint64_t end) {
  const std::uint64_t from = backed_[hole];
  const std::uint64_t to = std::min(page_up(end), bare_end(hole));
  if (end <= from || to <= from) return true;
  leave(hole);  // other holes pay
  if (rule_ == Holes::pay) pay(to - from, end - chunks_[hole].address);
  const bool done = commit(from, to - from);
  if (done) set_backed(hole, to);
  enter(hole);
  return done;
}

// Gives memory of holes back before `bytes` are taken for a block, or a part of one, of
// `block_bytes`.
void BestFitArena::pay(std::uint64_t bytes, std::uint64_t block_bytes) {
  const PoolStats& s = stats();
  const std::uint64_t most_used = std::max(s.most.used, s.now.used + block_bytes);
  const std::uint64_t most = most_used + std::max(most_used / 16, least_slack);
  const std::uint64_t wanted = s.now.reserved + bytes;
  std::uint64_t debt = wanted > most ? wanted - most : 0;
  auto at = holes_.end();
  for (std::size_t in_vain = 0; debt && at != holes_.begin() && in_vain < most_looks;) {
    const std::uint64_t given = unback(std::get<2>(*--at), debt);
    debt -= std::min(debt, given);
    if (given)
      at = holes_.end();  // the hole has moved
    else
      ++in_vain;
  }
}

// Gives back whole pages from the end of the hole's backed part, at least `bytes` if there are so
// many; how many it were.
std::uint64_t BestFitArena::unback(std::uint32_t hole, std::uint64_t bytes) {
  const std::uint64_t end = is_bare(hole) ? backed_[hole] : bare_end(hole);
  const std::uint64_t lowest = page_up(chunks_[hole].address);
  if (end <= lowest) return 0;
  const std::uint64_t from = bytes < end - lowest ? page_down(end - bytes) : lowest;
  leave(hole);
  decommit(from, end - from);
  set_backed(hole, from);
  enter(hole);
  return end - from;
}

void BestFitArena::remove(std::uint32_t id) {
  chunks_[id].is_free = true;
  set_backed(id, chunks_[id].end());
  if (const std::uint32_t after = chunks_[id].after; after != no_chunk && chunks_[after].is_free) {
    leave(after);
    join(id);
  }
  const std::uint32_t before = chunks_[id].before;
  if (before != no_chunk && chunks_[before].is_free) {
    leave(before);
    join(before);
    id = before;
  }
  enter(id);
}

// The hole and the one behind it become one, with as much memory as both had, in its lower part.
void BestFitArena::join(std::uint32_t hole) {
  const std::uint32_t after = chunks_[hole].after;
  const std::uint64_t gap = backed_[hole];  // [gap, middle) is bare
  const std::uint64_t middle = is_bare(hole) ? bare_end(hole) : gap;
  std::uint64_t end = backed_[after];
  const bool to_the_end = !is_bare(after);
  std::ranges::replace(tops_, after, hole);
  chunks_.join_after(hole);
  if (middle > gap) {
    if (to_the_end) end = bare_end(hole);
    const std::uint64_t moved_end = gap + (end - middle);
    if (moved_end < end) decommit(std::max(moved_end, middle), end - std::max(moved_end, middle));
    const std::uint64_t filled = std::min(moved_end, middle);
    if (filled == gap || commit(gap, filled - gap)) {
      end = moved_end;
    } else {
      if (moved_end > middle) decommit(middle, moved_end - middle);
      end = gap;
    }
  }
  set_backed(hole, end);
}

std::optional<std::uint64_t> BestFitArena::stretch(std::uint32_t id, std::uint64_t bytes) {
  const std::uint32_t hole = chunks_[id].after;
  const std::uint64_t more = bytes - chunks_[id].bytes;
  if (hole == no_chunk || !chunks_[hole].is_free || chunks_[hole].bytes <= more)
    return std::nullopt;
  if (!back(hole, chunks_[hole].address + more)) return std::nullopt;
  leave(hole);
  const std::uint64_t backed = backed_[hole];
  chunks_.move_border(id, bytes);
  set_backed(hole, std::max(backed, chunks_[hole].address));
  enter(hole);
  return bytes;
}

void BestFitArena::release_unused() {
  for (std::uint32_t id = 0; id < chunks_.end_id(); ++id)
    if (chunks_[id].bytes && chunks_[id].is_free) unback(id, chunks_[id].bytes);
}

}  // namespace

std::unique_ptr<MemoryPool> make_best_fit_arena(PoolSource& source,
                                                const MemoryPoolOptions& options) {
  return std::make_unique<BestFitArena>("best-fit-arena", Holes::pay, source, options);
}

std::unique_ptr<MemoryPool> make_kept_best_fit_arena(PoolSource& source,
                                                     const MemoryPoolOptions& options) {
  return std::make_unique<BestFitArena>("best-fit-arena-kept", Holes::stay, source, options);
}

}  // namespace quern
