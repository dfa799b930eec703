// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/blocking.h"

#include <cstddef>
#include <cstring>
#include <span>

namespace quern {
namespace {

// The distance of each index along `axis` from index 0. An element lies at the sum of its indices'
// distances, since a block belongs to one axis.
Blocking::Numbers distances(const Blocking& b, std::size_t axis, std::int64_t length) {
  Blocking::Numbers at(static_cast<std::size_t>(length));
  for (std::int64_t i = 0; i < length; ++i) {
    std::int64_t rest = i;
    std::int64_t inner = 1;  // elements of the blocks that are further in
    std::int64_t& distance = at[static_cast<std::size_t>(i)];
    for (std::size_t k = b.sizes.size(); k-- > 0; inner *= b.sizes[k]) {
      if (b.axes[k] != static_cast<std::int64_t>(axis)) continue;
      distance += rest % b.sizes[k] * inner;
      rest /= b.sizes[k];
    }
    distance += rest * b.strides[axis];
  }
  return at;
}

struct AxisDistances {
  Blocking::Numbers from, to;
};

template <class T>
void copy_along(std::span<const AxisDistances> axes, const std::byte* from, T* to) {
  constexpr std::int64_t size = sizeof(float);
  const AxisDistances& axis = axes.front();
  for (std::size_t i = 0; i < axis.to.size(); ++i) {
    const std::byte* at = from + size * axis.from[i];
    if (axes.size() > 1) {
      copy_along(axes.subspan(1), at, to + axis.to[i]);
      continue;
    }
    float number = 0;
    std::memcpy(&number, at, sizeof number);
    to[axis.to[i]] = T(number);
  }
}

template <class T>
void copy_as(const Blocking::Numbers& dims, const Blocking& from, const std::byte* src,
             const Blocking& to, T* dst) {
  std::vector<AxisDistances> axes;
  for (std::size_t d = 0; d < dims.size(); ++d)
    axes.push_back({distances(from, d, dims[d]), distances(to, d, dims[d])});
  copy_along<T>(axes, src, dst);
}

}  // namespace

void copy_blocks(const Blocking::Numbers& dims, const Blocking& from, const std::byte* src,
                 const Blocking& to, float* dst) {
  copy_as(dims, from, src, to, dst);
}
void copy_blocks(const Blocking::Numbers& dims, const Blocking& from, const std::byte* src,
                 const Blocking& to, BFloat16* dst) {
  copy_as(dims, from, src, to, dst);
}

}  // namespace quern
