// SPDX-License-Identifier: Apache-2.0
// Best fit with coalescing, after the rules of ONNX Runtime's and TensorFlow's arenas: a chunk is
// cut when it is at least twice as large as the request or more than 128 MiB would be left over,
// and a new region is the next power of two, or as large as the request.
#include <algorithm>
#include <set>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/pools/pools.h"
#include "graph/memory/pools/region_pool.h"

namespace quern {
namespace {

enum class Growth : std::uint8_t { next_power_of_two, as_requested };

class Bfc final : public RegionPool {
 public:
  Bfc(std::string_view name, Growth growth, PoolSource& source, const MemoryPoolOptions& options)
      : RegionPool(name, source, options), growth_(growth) {}

 private:
  static constexpr std::uint64_t unit = 256;
  static constexpr std::uint64_t first_region = 1 << 20;
  static constexpr std::uint64_t largest_region = std::uint64_t{1} << 60;
  static constexpr std::uint64_t worth_a_split = 128 << 20;

  void enter(std::uint32_t id) override { free_.emplace(chunks()[id].bytes, id); }
  void leave(std::uint32_t id) override { free_.erase({chunks()[id].bytes, id}); }

  std::uint32_t find(std::uint64_t bytes) const override {
    const auto at = free_.lower_bound({bytes, 0});
    return at == free_.end() ? no_chunk : at->second;
  }

  std::uint64_t block_bytes(std::uint64_t bytes) const override { return round_up(bytes, unit); }

  bool splits(std::uint64_t chunk_bytes, std::uint64_t bytes) const override {
    return chunk_bytes >= 2 * bytes || chunk_bytes - bytes >= worth_a_split;
  }

  std::uint64_t region_bytes(std::uint64_t bytes) const override {
    if (growth_ == Growth::as_requested) return bytes;
    std::uint64_t size = next_region_;
    while (size < bytes && size < largest_region) size *= 2;
    return std::max(size, bytes);
  }

  // One that had to be larger than its turn is a turn ahead.
  void on_region(std::uint64_t bytes) override {
    if (growth_ == Growth::next_power_of_two)
      next_region_ = std::min(bytes == next_region_ ? 2 * bytes : bytes, largest_region);
  }

  Growth growth_;
  std::uint64_t next_region_ = first_region;
  std::pmr::set<std::pair<std::uint64_t, std::uint32_t>> free_{nodes()};  // bytes, chunk
};

}  // namespace

std::unique_ptr<MemoryPool> make_bfc(PoolSource& source, const MemoryPoolOptions& options) {
  return std::make_unique<Bfc>("bfc", Growth::next_power_of_two, source, options);
}

std::unique_ptr<MemoryPool> make_bfc_as_requested(PoolSource& source,
                                                  const MemoryPoolOptions& options) {
  return std::make_unique<Bfc>("bfc-as-requested", Growth::as_requested, source, options);
}

}  // namespace quern
