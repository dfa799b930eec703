// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"

namespace quern {

Layout Layout::permuted(const Shape& shape, std::span<const std::int64_t> order) {
  Layout l;
  l.strides = Shape::filled(shape.rank(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto d = static_cast<std::size_t>(order[i]);
    l.strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  return l;
}

Layout Layout::row_major(const Shape& shape) {
  std::array<std::int64_t, Shape::max_rank> order;
  std::iota(order.begin(), order.end(), 0);
  return permuted(shape, std::span(order).first(shape.rank()));
}

Layout Layout::channels_last(const Shape& shape) {
  if (shape.rank() < 3) return row_major(shape);
  std::array<std::int64_t, Shape::max_rank> order{};
  for (std::size_t i = 1; i + 1 < shape.rank(); ++i) order[i] = static_cast<std::int64_t>(i + 1);
  order[shape.rank() - 1] = 1;
  return permuted(shape, std::span(order).first(shape.rank()));
}

Layout Layout::channel_blocked(const Shape& shape, std::uint8_t block) {
  Shape blocks = shape;
  blocks[1] = ceil_div(shape[1], block);
  Layout l = row_major(blocks);
  for (std::size_t i = 0; i < shape.rank(); ++i) l.strides[i] *= block;
  l.block = block;
  return l;
}

std::string Layout::text() const {
  return strides.text() + (block ? cat("/c", static_cast<int>(block)) : std::string());
}

std::size_t TensorDesc::bytes() const {
  if (shape.elements() == 0) return 0;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const bool blocked = layout.block && i == 1;
    const std::int64_t n = blocked ? ceil_div(shape[1], layout.block) : shape[i];
    last += (n - 1) * layout.strides[i];
  }
  if (layout.block) last += layout.block - 1;
  return static_cast<std::size_t>(last + 1) * size_of(dtype);
}

bool same_placement(const Shape& shape, const Layout& a, const Layout& b) {
  if (shape.elements() == 0) return true;
  if (a.block != b.block) return false;
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
  return true;
}

namespace {

// The size of a dimension, or its number of blocks if it is divided into full blocks.
std::int64_t length(const TensorDesc& t, std::size_t i) {
  return t.layout.block && i == 1 ? t.shape[1] / t.layout.block : t.shape[i];
}

}  // namespace

bool is_dense(const TensorDesc& t) {
  if (t.layout.block && t.shape[1] % t.layout.block != 0) return false;
  // Comparing the number of bytes with the number of elements is not enough: a broadcast dimension
  // and a hole can cancel. In a dense layout each dimension's stride is the extent of those inside
  // it.
  if (t.shape.elements() == 0) return true;
  std::int64_t end = std::max<std::int64_t>(t.layout.block, 1);
  unsigned left = 0;  // bit set of the dimensions whose size is not 1
  for (std::size_t i = 0; i < t.shape.rank(); ++i) left |= (length(t, i) != 1 ? 1U : 0U) << i;
  while (left != 0) {
    std::size_t next = 0;
    while (next < t.shape.rank() && ((left >> next & 1) == 0 || t.layout.strides[next] != end))
      ++next;
    if (next == t.shape.rank()) return false;
    left &= ~(1U << next);
    end *= length(t, next);
  }
  return true;
}

// NumPy's method: dimensions that are contiguous merge into one run, which may then be divided
// anew.
bool reshape_in_place(const TensorDesc& from, const Shape& shape, Layout& to) {
  if (from.shape.elements() == 0 || is_row_major(from)) {
    to = Layout::row_major(shape);
    return true;
  }
  if (from.layout.block) return false;
  Shape old_dims;
  Shape old_strides;
  for (std::size_t i = 0; i < from.shape.rank(); ++i) {
    if (from.shape[i] == 1) continue;
    old_dims.push_back(from.shape[i]);
    old_strides.push_back(from.layout.strides[i]);
  }
  Layout result;
  result.strides = Shape::filled(shape.rank(), 1);
  std::size_t o = 0;
  std::size_t n = 0;
  while (n < shape.rank() || o < old_dims.rank()) {
    const std::size_t n_begin = n;
    const std::size_t o_begin = o;
    std::int64_t new_count = n < shape.rank() ? shape[n++] : 1;
    std::int64_t old_count = o < old_dims.rank() ? old_dims[o++] : 1;
    while (new_count != old_count) {
      if (new_count < old_count) {
        new_count *= shape[n++];
      } else {
        old_count *= old_dims[o++];
      }
    }
    for (std::size_t i = o_begin; i + 1 < o; ++i)
      if (old_strides[i] != old_dims[i + 1] * old_strides[i + 1]) return false;
    std::int64_t stride = o > o_begin ? old_strides[o - 1] : 1;
    for (std::size_t i = n; i-- > n_begin;) {
      result.strides[i] = stride;
      stride *= shape[i];
    }
  }
  to = result;
  return true;
}

}  // namespace quern
