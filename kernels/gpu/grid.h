// SPDX-License-Identifier: Apache-2.0
// Work as the shaders want it: grids that fit the device, dimensions that are few.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <quern/shape.h>

#include "kernels/contract/gpu.h"

namespace quern::gpu {

constexpr std::uint32_t ceil_div(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint32_t>((a + b - 1) / b);
}
constexpr std::uint32_t word(std::int64_t v) {
  return static_cast<std::uint32_t>(v);
}
inline std::uint32_t word(float v) {
  return std::bit_cast<std::uint32_t>(v);
}

// A pair of height and width, each below 65,536, in one push word.
constexpr std::uint32_t hw_word(const std::array<std::int64_t, 2>& hw) {
  return word(hw[0]) | word(hw[1]) << 16;
}
// Invocations that stand side by side and read the same elements: one subgroup in software.
inline std::uint32_t side_by_side(const GpuTarget& target) {
  return target.software ? target.subgroup_size : 64;
}
// Of `local` invocations, those that stand side by side where there is work for `wanted`: the
// others make further lines (lines.glsl). Software has one.
std::uint32_t across(std::uint32_t local, std::uint64_t wanted, const GpuTarget& target);
// Lines of that length for the constants of a dispatch.
void set_across(Dispatch& d, std::uint32_t across);
// Invocations of a workgroup where nothing is shared between them.
std::uint32_t lanes(const GpuTarget& target);
// Workgroups of `lanes` invocations for n of them, as invocation_index() in common.glsl counts.
std::array<std::uint32_t, 3> linear_groups(std::uint64_t n, std::uint32_t lanes,
                                           const GpuTarget& target);
// What `build` makes of each tile that the device can run.
template <class Tile, class Build>
void append_candidates(std::vector<Dispatch>& candidates, std::span<const Tile> tiles,
                       const Build& build) {
  for (const Tile& tile : tiles)
    if (std::optional<Dispatch> d = build(tile)) candidates.push_back(std::move(*d));
}
// The first of them, with the others as its candidates; nothing when there is none.
std::optional<Dispatch> with_candidates(std::vector<Dispatch> candidates);
template <class Tile, class Build>
std::optional<Dispatch> with_candidates(std::span<const Tile> tiles, const Build& build) {
  std::vector<Dispatch> candidates;
  append_candidates(candidates, tiles, build);
  return with_candidates(std::move(candidates));
}
// Whether a grid of these many workgroups can be had.
bool fits(const std::array<std::uint64_t, 3>& groups, const GpuTarget& target);

// Whether an invocation may go round its loops so often. llvmpipe stops every loop, without a word,
// once those of an invocation have gone round 65,535 times in all.
bool can_loop(std::int64_t iterations, const GpuTarget& target);

// Walking several tensors at once: dimensions innermost first, neighbours joined where all operands
// allow it, those of 1 left out; strides in elements, by operand.
struct Loop {
  static constexpr std::size_t max_rank = 6;
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides;

  std::int64_t elements() const;
};
// `strides[k]` are those of operand k over `shape`; `order` lists the dimensions, outermost first.
// Nothing when too many dimensions stay or an offset needs more than 31 bits. Strides may be
// negative: what a shader adds up of words comes out right.
std::optional<Loop> make_loop(const Shape& shape, std::span<const Shape> strides,
                              std::span<const std::size_t> order);
// The dimensions of a layout, that of the largest stride first.
std::vector<std::size_t> memory_order(const Shape& shape, const Shape& strides);
// Six words, `fill` where there are fewer dimensions.
void append(std::vector<std::uint32_t>& push, std::span<const std::int64_t> values,
            std::int64_t fill);

}  // namespace quern::gpu
