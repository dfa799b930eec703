// SPDX-License-Identifier: Apache-2.0
// Work in the form that shaders need: grids that fit the device, and few dimensions.
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

// ceil(a / b) of what is known to fit a word.
constexpr std::uint32_t ceil_div_word(std::uint64_t a, std::uint64_t b) {
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
// Number of adjacent invocations that read the same elements: one subgroup on a software device.
inline std::uint32_t side_by_side(const GpuTarget& target) {
  return target.software ? target.subgroup_size : 64;
}
// The number of the `local` invocations that are adjacent in a line if there is work for `wanted`;
// the others form further lines (lines.glsl). A software device has one line.
std::uint32_t across(std::uint32_t local, std::uint64_t wanted, const GpuTarget& target);
// Sets the specialisation constant for lines of that length.
void set_across(Dispatch& d, std::uint32_t across);
// Invocations of a workgroup that share no memory.
std::uint32_t lanes(const GpuTarget& target);
// The grid of workgroups of `lanes` invocations for n invocations, as counted by invocation_index()
// in common.glsl. As square as it can be where a line of groups is too short.
std::array<std::uint32_t, 3> linear_groups(std::uint64_t n, std::uint32_t lanes,
                                           const GpuTarget& target);
// Appends the dispatch that `build` returns for each tile that the device can run.
template <class Tile, class Build>
void append_candidates(std::vector<Dispatch>& candidates, std::span<const Tile> tiles,
                       const Build& build) {
  for (const Tile& tile : tiles)
    if (std::optional<Dispatch> d = build(tile)) candidates.push_back(std::move(*d));
}
// The first dispatch with the others as its candidates; nullopt if there is none.
std::optional<Dispatch> with_candidates(std::vector<Dispatch> candidates);
template <class Tile, class Build>
std::optional<Dispatch> with_candidates(std::span<const Tile> tiles, const Build& build) {
  std::vector<Dispatch> candidates;
  append_candidates(candidates, tiles, build);
  return with_candidates(std::move(candidates));
}
// True if the device supports a grid of these sizes.
bool fits(const std::array<std::uint64_t, 3>& groups, const GpuTarget& target);

// True if an invocation may run this many loop iterations. llvmpipe silently stops every loop once
// the loops of an invocation have run 65,535 iterations in total.
bool can_loop(std::int64_t iterations, const GpuTarget& target);

// A loop nest over several tensors: dimensions innermost first, adjacent ones merged where all
// operands allow it, those of size 1 left out; strides in elements, by operand.
struct Loop {
  static constexpr std::size_t max_rank = 6;
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides;

  std::int64_t elements() const;
};
// `strides[k]` are those of operand k over `shape`; `order` lists the dimensions, outermost first.
// nullopt if too many dimensions remain or an offset needs more than 31 bits. Strides may be
// negative: the sums of words in a shader wrap to the right value.
std::optional<Loop> make_loop(const Shape& shape, std::span<const Shape> strides,
                              std::span<const std::size_t> order);
// The dimensions of a layout, largest stride first.
std::vector<std::size_t> memory_order(const Shape& shape, const Shape& strides);
// Appends six words, padded with `fill` if there are fewer dimensions.
void append(std::vector<std::uint32_t>& push, std::span<const std::int64_t> values,
            std::int64_t fill);

}  // namespace quern::gpu
