// SPDX-License-Identifier: Apache-2.0
#include "kernels/gpu/grid.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/ops/control_flow.h"

namespace quern::gpu {

std::uint32_t lanes(const GpuTarget& target) {
  return std::min(target.software ? 64U : 256U, target.max_invocations);
}

std::uint32_t across(std::uint32_t local, std::uint64_t wanted, const GpuTarget& target) {
  if (target.software || wanted >= local) return local;
  return static_cast<std::uint32_t>(std::bit_ceil(std::max<std::uint64_t>(wanted, 1)));
}

void set_across(Dispatch& d, std::uint32_t across) {
  constexpr std::size_t id = 9;
  d.constants.resize(id + 1, 0);
  d.constants[id] = across;
}

std::array<std::uint32_t, 3> linear_groups(std::uint64_t n, std::uint32_t lanes,
                                           const GpuTarget& target) {
  const std::uint64_t groups = std::max<std::uint64_t>(ceil_div_word(n, lanes), 1);
  if (groups <= target.max_groups) return {static_cast<std::uint32_t>(groups), 1, 1};
  // About as many lines as a line is long: such a grid can be cut between its lines alone.
  const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(groups)));
  const std::uint64_t x = std::min<std::uint64_t>(std::bit_ceil(root), target.max_groups);
  return {static_cast<std::uint32_t>(x), ceil_div_word(groups, x), 1};
}

std::optional<Dispatch> with_candidates(std::vector<Dispatch> candidates) {
  if (candidates.empty()) return std::nullopt;
  Dispatch first = std::move(candidates.front());
  for (std::size_t i = 1; i < candidates.size(); ++i)
    if (candidates[i] != first &&
        std::ranges::find(first.candidates, candidates[i]) == first.candidates.end())
      first.candidates.push_back(std::move(candidates[i]));
  return first;
}

bool fits(const std::array<std::uint64_t, 3>& groups, const GpuTarget& target) {
  return std::ranges::all_of(groups, [&](std::uint64_t g) { return g <= target.max_groups; });
}

bool can_loop(std::int64_t iterations, const GpuTarget& target) {
  return target.max_iterations == 0 || iterations <= target.max_iterations;
}

std::int64_t Loop::elements() const {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

std::optional<Loop> make_loop(const Shape& shape, std::span<const Shape> strides,
                              std::span<const std::size_t> order) {
  Loop loop;
  loop.strides.resize(strides.size());
  for (std::size_t n = order.size(); n-- > 0;) {
    const std::size_t d = order[n];
    if (shape[d] == 1) continue;
    const bool joins = !loop.dims.empty() && [&] {
      for (std::size_t k = 0; k < strides.size(); ++k)
        if (strides[k][d] != loop.strides[k].back() * loop.dims.back()) return false;
      return true;
    }();
    if (joins) {
      loop.dims.back() *= shape[d];
      continue;
    }
    loop.dims.push_back(shape[d]);
    for (std::size_t k = 0; k < strides.size(); ++k) loop.strides[k].push_back(strides[k][d]);
  }
  if (loop.dims.empty()) {
    loop.dims.push_back(1);
    for (auto& s : loop.strides) s.push_back(0);
  }
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (loop.dims.size() > Loop::max_rank || loop.elements() > limit) return std::nullopt;
  for (const auto& s : loop.strides) {
    std::int64_t first = 0, last = 0;
    for (std::size_t d = 0; d < s.size(); ++d)
      (s[d] < 0 ? first : last) += (loop.dims[d] - 1) * s[d];
    if (first < -limit || last > limit) return std::nullopt;
  }
  return loop;
}

std::vector<std::size_t> memory_order(const Shape& shape, const Shape& strides) {
  std::vector<std::size_t> order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return strides[a] > strides[b]; });
  return order;
}

void append(std::vector<std::uint32_t>& push, std::span<const std::int64_t> values,
            std::int64_t fill) {
  for (std::size_t i = 0; i < Loop::max_rank; ++i)
    push.push_back(word(i < values.size() ? values[i] : fill));
}

}  // namespace quern::gpu
