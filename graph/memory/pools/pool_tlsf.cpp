// SPDX-License-Identifier: Apache-2.0
// Two-level segregated fit (Masmano, Ripoll, Crespo, Real, ECRTS 2004): free chunks in lists by
// size, 16 lists a power of two, and a bit for each list that is not empty. A request is rounded up
// to the next list, so that its first chunk always fits: no search, at the price of some of the
// fits.
#include <array>
#include <bit>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/pools/pools.h"
#include "graph/memory/pools/region_pool.h"

namespace quern {
namespace {

class Tlsf final : public RegionPool {
 public:
  Tlsf(PoolSource& source, const MemoryPoolOptions& options) : RegionPool("tlsf", source, options) {
    for (auto& row : heads_) row.fill(no_chunk);
  }

 private:
  static constexpr int steps_log2 = 4;
  static constexpr int steps = 1 << steps_log2;

  struct List {
    int power = 0;
    int step = 0;
  };
  struct Links {
    std::uint32_t before = no_chunk;
    std::uint32_t after = no_chunk;
  };

  // The list of a chunk of `bytes` bytes, at least the granule.
  static List list_of(std::uint64_t bytes) {
    const int power = static_cast<int>(std::bit_width(bytes)) - 1;
    // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the granule has more bits
    return {power, static_cast<int>(bytes >> (power - steps_log2)) - steps};
  }

  void enter(std::uint32_t id) override {
    const auto [power, step] = list_of(chunks()[id].bytes);
    std::uint32_t& head = heads_[power][step];
    if (links_.size() <= id) links_.resize(id + std::size_t{1});
    links_[id] = {no_chunk, head};
    if (head != no_chunk) links_[head].before = id;
    head = id;
    powers_ |= std::uint64_t{1} << power;
    steps_[power] |= 1u << step;
  }

  void leave(std::uint32_t id) override {
    const auto [power, step] = list_of(chunks()[id].bytes);
    const Links l = links_[id];
    if (l.after != no_chunk) links_[l.after].before = l.before;
    if (l.before != no_chunk) {
      links_[l.before].after = l.after;
      return;
    }
    heads_[power][step] = l.after;
    if (l.after != no_chunk) return;
    steps_[power] &= ~(1u << step);
    if (!steps_[power]) powers_ &= ~(std::uint64_t{1} << power);
  }

  // The smallest size of the first list whose chunks are all large enough.
  static std::uint64_t rounded(std::uint64_t bytes) {
    const std::uint64_t step = std::uint64_t{1} << (list_of(bytes).power - steps_log2);
    return round_up(bytes, step);
  }

  // So that the same request finds it again.
  std::uint64_t region_bytes(std::uint64_t bytes) const override { return rounded(bytes); }

  std::uint32_t find(std::uint64_t bytes) const override {
    const auto [power, step] = list_of(rounded(bytes));
    if (const std::uint32_t here = steps_[power] >> step << step)
      return heads_[power][std::countr_zero(here)];
    const std::uint64_t above = powers_ & ~((std::uint64_t{2} << power) - 1);
    if (!above) return no_chunk;
    const int p = std::countr_zero(above);
    return heads_[p][std::countr_zero(steps_[p])];
  }

  std::uint64_t powers_ = 0;
  std::array<std::uint32_t, 64> steps_{};
  std::array<std::array<std::uint32_t, steps>, 64> heads_;
  std::vector<Links> links_;  // by chunk
};

}  // namespace

std::unique_ptr<MemoryPool> make_tlsf(PoolSource& source, const MemoryPoolOptions& options) {
  return std::make_unique<Tlsf>(source, options);
}

}  // namespace quern
