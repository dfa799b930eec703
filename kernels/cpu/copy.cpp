// SPDX-License-Identifier: Apache-2.0
// Copies elements between layouts. Dimensions that are contiguous on both sides are merged, then
// the innermost runs are copied whole; what remains is a transposition, done in tiles that stay in
// the cache. Large f32 reorders go to oneDNN.
#include "kernels/contract/copy.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/movement.h"

#ifdef QUERN_ONEDNN
#include "kernels/onednn/onednn.h"
#endif

namespace quern {
namespace {

using CopyLoop = ElementCopy::Loop;

struct Physical {
  std::array<std::int64_t, Shape::max_rank + 2> dims, src, dst;
  std::size_t rank = 0;
};

// The step from one group of `group` channels to the next, for a group that fills no more than a
// block, or blocks exactly.
std::int64_t channel_step(const Layout& layout, std::int64_t group) {
  const std::int64_t block = layout.block ? layout.block : 1;
  return group < block ? group : layout.strides[1] * (group / block);
}

// Channels that are copied together: whole groups of `group` channels, each of which is laid out in
// the same way on both sides.
struct ChannelRange {
  std::int64_t begin, count, group;
};

// Block sizes of both sides, of which one divides the other; 1 if there are no blocks.
struct BlockSizes {
  std::int64_t small, large;
};

BlockSizes block_sizes(const TensorDesc& from, const TensorDesc& to) {
  const auto [small, large] = std::minmax<std::int64_t>(
      {std::max<std::int64_t>(from.layout.block, 1), std::max<std::int64_t>(to.layout.block, 1)});
  return {small, large};
}

// The channels in full large blocks, those in full small blocks within the last large one, and the
// rest.
std::vector<ChannelRange> channel_ranges(std::int64_t channels, const BlockSizes& blocks) {
  std::vector<ChannelRange> ranges;
  std::int64_t begin = 0;
  for (const std::int64_t group : {blocks.large, blocks.small, std::int64_t{1}}) {
    const std::int64_t count = (channels - begin) / group * group;
    if (count > 0) ranges.push_back({begin, count, group});
    begin += count;
  }
  return ranges;
}

std::int64_t channel_offset(const Layout& layout, std::int64_t channel) {
  const std::int64_t block = layout.block ? layout.block : 1;
  return channel / block * layout.strides[1] + channel % block;
}

// Splits dimension 1 if one of the sides is blocked.
Physical physical_dims(const TensorDesc& from, const TensorDesc& to, const BlockSizes& blocks,
                       const ChannelRange& channels) {
  Physical p{};
  const auto add = [&](std::int64_t n, std::int64_t s, std::int64_t d) {
    p.dims[p.rank] = n;
    p.src[p.rank] = s;
    p.dst[p.rank++] = d;
  };
  for (std::size_t i = 0; i < from.shape.rank(); ++i) {
    if (i != 1 || blocks.large == 1) {
      add(from.shape[i], from.layout.strides[i], to.layout.strides[i]);
      continue;
    }
    std::int64_t rest = channels.count;
    for (const std::int64_t group : {blocks.large, blocks.small, std::int64_t{1}}) {
      if (group > channels.group) continue;
      add(rest / group, channel_step(from.layout, group), channel_step(to.layout, group));
      rest = group;
    }
  }
  return p;
}

// Sorted by the destination's strides, merged where both sides allow it.
CopyLoop plan_loop(const Physical& p) {
  std::array<std::size_t, Shape::max_rank + 2> order{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < p.rank; ++i)
    if (p.dims[i] != 1) order[n++] = i;
  std::stable_sort(order.begin(), order.begin() + static_cast<long>(n),
                   [&](std::size_t a, std::size_t b) { return p.dst[a] > p.dst[b]; });
  CopyLoop loop;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = order[k];
    const std::size_t last = loop.dims.rank() - 1;
    if (k && loop.src[last] == p.dims[i] * p.src[i] && loop.dst[last] == p.dims[i] * p.dst[i]) {
      loop.dims[last] *= p.dims[i];
      loop.src[last] = p.src[i];
      loop.dst[last] = p.dst[i];
    } else {
      loop.dims.push_back(p.dims[i]);
      loop.src.push_back(p.src[i]);
      loop.dst.push_back(p.dst[i]);
    }
  }
  return loop;
}

// dst[i] = src[2 i], as slices of images into even and odd columns need it: compilers load word by
// word. Two vectors hold one word more than is copied, which the last four may not have.
void copy_every_second(const std::uint32_t* src, std::uint32_t* dst, std::int64_t n) {
  using Words = std::uint32_t __attribute__((vector_size(16)));
  std::int64_t i = 0;
  for (; i + 4 < n; i += 4) {
    Words a;
    Words b;
    std::memcpy(&a, src + 2 * i, 16);
    std::memcpy(&b, src + 2 * i + 4, 16);
    const Words even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    std::memcpy(dst + i, &even, 16);
  }
  for (; i < n; ++i) dst[i] = src[2 * i];
}

template <class T>
void copy_run(const T* src, std::int64_t src_stride, T* dst, std::int64_t dst_stride,
              std::int64_t n) {
  if constexpr (sizeof(T) == 4)
    if (src_stride == 2 && dst_stride == 1) return copy_every_second(src, dst, n);
  if (src_stride == 1 && dst_stride == 1) {
    std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(T));
  } else if (dst_stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) dst[i] = src[i * src_stride];
  } else {
    for (std::int64_t i = 0; i < n; ++i) dst[i * dst_stride] = src[i * src_stride];
  }
}

// dst[r][c] = src[c][r] for 8 x 8 bytes: rows of bytes are loaded as words, then halves, quarters
// and eighths are exchanged.
inline void transpose_block(const std::uint8_t* src, std::int64_t src_stride, std::uint8_t* dst,
                            std::int64_t dst_stride) {
  std::uint64_t a[8];
  for (int c = 0; c < 8; ++c) std::memcpy(a + c, src + c * src_stride, 8);
  const auto exchange = [&a](int distance, std::uint64_t mask) {
    for (int i = 0; i < 8; ++i) {
      if (i & distance) continue;
      const std::uint64_t t = ((a[i] >> 8 * distance) ^ a[i + distance]) & mask;
      a[i + distance] ^= t;
      a[i] ^= t << 8 * distance;
    }
  };
  exchange(4, 0x00000000ffffffff);
  exchange(2, 0x0000ffff0000ffff);
  exchange(1, 0x00ff00ff00ff00ff);
  for (int r = 0; r < 8; ++r) std::memcpy(dst + r * dst_stride, a + r, 8);
}

// The same for 4 x 4 words.
inline void transpose_block(const std::uint32_t* src, std::int64_t src_stride, std::uint32_t* dst,
                            std::int64_t dst_stride) {
  using Words = std::uint32_t __attribute__((vector_size(16)));
  Words a[4];
  for (int c = 0; c < 4; ++c) std::memcpy(a + c, src + c * src_stride, 16);
  const Words low01 = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
  const Words low23 = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
  const Words high01 = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
  const Words high23 = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
  const Words rows[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                         __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                         __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                         __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int r = 0; r < 4; ++r) std::memcpy(dst + r * dst_stride, rows + r, 16);
}

// Elements along a side of transpose_block; 0 if there is none for this size.
template <class T>
constexpr std::int64_t block_side = sizeof(T) == 1   ? 8
                                    : sizeof(T) == 4 ? 4
                                                     : 0;

// Interleaves a few planes, as of an image, pixel by pixel.
template <int Planes, class T>
void interleave(const T* src, std::int64_t src_stride, T* dst, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i, dst += Planes)
    for (int c = 0; c < Planes; ++c) dst[c] = src[c * src_stride + i];
}

// False if these are not the planes of an image.
template <class T>
bool interleave_planes(const CopyLoop& l, std::size_t other, const T* src, T* dst) {
  const std::size_t last = l.dims.rank() - 1;
  const std::int64_t planes = l.dims[last];
  if (l.src[other] != 1 || l.dst[last] != 1 || l.dst[other] != planes) return false;
  switch (planes) {
    case 2: interleave<2>(src, l.src[last], dst, l.dims[other]); return true;
    case 3: interleave<3>(src, l.src[last], dst, l.dims[other]); return true;
    case 4: interleave<4>(src, l.src[last], dst, l.dims[other]); return true;
    default: return false;
  }
}

// Tiles of the last dimension against the one that is contiguous in the source.
template <class T>
void transpose_tile(const CopyLoop& l, std::size_t other, const T* src, T* dst) {
  if (interleave_planes(l, other, src, dst)) return;
  constexpr std::int64_t tile = 16;
  const std::size_t last = l.dims.rank() - 1;
  const std::int64_t rows = l.dims[other];
  const std::int64_t columns = l.dims[last];
  for (std::int64_t r0 = 0; r0 < rows; r0 += tile)
    for (std::int64_t c0 = 0; c0 < columns; c0 += tile) {
      const std::int64_t r1 = std::min(r0 + tile, rows);
      const std::int64_t c1 = std::min(c0 + tile, columns);
      std::int64_t r_done = r0;
      std::int64_t c_done = c0;
      if constexpr (block_side < T >> 0) {
        if (l.dst[last] == 1 && l.src[other] == 1) {
          r_done = r1 - (r1 - r0) % block_side<T>;
          c_done = c1 - (c1 - c0) % block_side<T>;
        }
        for (std::int64_t r = r0; r < r_done; r += block_side<T>)
          for (std::int64_t c = c0; c < c_done; c += block_side<T>)
            transpose_block(src + c * l.src[last] + r, l.src[last], dst + r * l.dst[other] + c,
                            l.dst[other]);
      }
      for (std::int64_t r = r0; r < r1; ++r)
        for (std::int64_t c = r < r_done ? c_done : c0; c < c1; ++c)
          dst[r * l.dst[other] + c * l.dst[last]] = src[r * l.src[other] + c * l.src[last]];
    }
}

// The dimension to tile against the last one; the rank if plain runs are as good: reading a line of
// memory two or three times costs less than tiles so thin.
std::size_t tiled_dimension(const CopyLoop& l) {
  constexpr std::int64_t thinnest_tile = 4;
  const std::size_t rank = l.dims.rank();
  if (rank < 2 || l.src[rank - 1] == 1) return rank;
  for (std::size_t d = 0; d + 1 < rank; ++d)
    if (l.src[d] == 1 && l.dims[d] >= thinnest_tile) return d;
  return rank;
}

// Copies rows [begin, end) of the outer iteration space: the dimensions but `tiled` and the last.
template <class T>
void copy_part(const CopyLoop& l, std::size_t tiled, const T* src, T* dst, std::int64_t begin,
               std::int64_t end) {
  const std::size_t rank = l.dims.rank();
  Shape outer;
  std::array<Shape, 2> strides;
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    if (d == tiled) continue;
    outer.push_back(l.dims[d]);
    strides[0].push_back(l.src[d]);
    strides[1].push_back(l.dst[d]);
  }
  for_each_offset(outer, strides, begin, end, [&](const auto& at) {
    if (tiled < rank) {
      transpose_tile(l, tiled, src + at[0], dst + at[1]);
    } else {
      copy_run(src + at[0], l.src[rank - 1], dst + at[1], l.dst[rank - 1], l.dims[rank - 1]);
    }
  });
}

// The dimension whose rows or runs are cut where they are long.
std::size_t cut_dimension(const CopyLoop& l, std::size_t tiled) {
  return tiled < l.dims.rank() ? tiled : l.dims.rank() - 1;
}

// Piece `index` of a row: `length` elements of the dimension that is cut.
struct RowPiece {
  std::int64_t row, index, length;
};

// A piece may be too thin to be tiled by itself, and still is, since rows are counted without that
// dimension.
template <class T>
void copy_piece_of_row(CopyLoop l, std::size_t tiled, const T* src, T* dst, const RowPiece& piece) {
  const std::size_t d = cut_dimension(l, tiled);
  const std::int64_t begin = piece.index * piece.length;
  l.dims[d] = std::min(piece.length, l.dims[d] - begin);
  copy_part(l, tiled, src + begin * l.src[d], dst + begin * l.dst[d], piece.row, piece.row + 1);
}

std::int64_t outer_count(const CopyLoop& l, std::size_t tiled) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d + 1 < l.dims.rank(); ++d)
    if (d != tiled) n *= l.dims[d];
  return n;
}

template <class F>
void with_size(std::size_t element_size, F&& f) {
  switch (element_size) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(StringRef{});
  }
}

class CopyKernel final : public CpuKernel {
 public:
  CopyKernel(const TensorDesc& from, const TensorDesc& to)
      : copy_(from, to), bytes_(to.bytes()), pads_(!is_dense(to) && to.layout.block) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    StopCheck check(args.stop);
    if (pads_) zero_bytes(bytes_, args.outputs[0], check);
    copy_(args.inputs[0], args.outputs[0], parallel);
    return {};
  }

 private:
  ElementCopy copy_;
  std::size_t bytes_;
  bool pads_;
};

// Channels that do not fill a block.
#ifdef QUERN_ONEDNN
bool has_partial_block(const TensorDesc& t) {
  return t.layout.block && t.shape[1] % t.layout.block != 0;
}
#endif

}  // namespace

ElementCopy::ElementCopy(const TensorDesc& from, const TensorDesc& to)
    : element_size_(size_of(from.dtype)) {
  const std::int64_t elements = from.shape.elements();
  if (elements == 0) return;
  const BlockSizes blocks = block_sizes(from, to);
  if (blocks.large == 1) {
    parts_.push_back({plan_loop(physical_dims(from, to, blocks, {})), 0, 0, elements});
    return;
  }
  for (const ChannelRange& r : channel_ranges(from.shape[1], blocks))
    parts_.push_back({plan_loop(physical_dims(from, to, blocks, r)),
                      channel_offset(from.layout, r.begin), channel_offset(to.layout, r.begin),
                      elements / from.shape[1] * r.count});
}

void ElementCopy::operator()(const std::byte* src, std::byte* dst, const Parallel& parallel) const {
  for (const Part& p : parts_) {
    const auto size = static_cast<std::int64_t>(element_size_);
    copy(p, src + p.src * size, dst + p.dst * size, parallel);
  }
}

void ElementCopy::copy(const Part& part, const std::byte* src_bytes, std::byte* dst_bytes,
                       const Parallel& parallel) const {
  const std::int64_t min_part = cut_size(16384);  // elements that make another thread worth waking
  const std::int64_t longest_piece = cut_size(1 << 20);
  const Loop& loop = part.loop;
  if (loop.dims.empty()) {
    std::memcpy(dst_bytes, src_bytes, element_size_);
    return;
  }
  with_size(element_size_, [&]<class T>(T) {
    const auto* src = reinterpret_cast<const T*>(src_bytes);
    auto* dst = reinterpret_cast<T*>(dst_bytes);
    const std::size_t tiled = tiled_dimension(loop);
    const std::int64_t rows = outer_count(loop, tiled);
    const std::int64_t along = loop.dims[cut_dimension(loop, tiled)];
    // Whole tiles, of which a piece has at least one.
    const std::int64_t length =
        std::max<std::int64_t>(64, longest_piece / (part.elements / rows / along) / 64 * 64);
    const std::int64_t pieces = ceil_div(along, length);
    const std::int64_t units = rows * pieces;
    const std::int64_t grain = std::max<std::int64_t>(1, units * min_part / part.elements);
    parallel(units, grain, [&](std::int64_t b, std::int64_t e) {
      if (pieces == 1) return copy_part(loop, tiled, src, dst, b, e);
      for (std::int64_t u = b; u < e; ++u)
        copy_piece_of_row(loop, tiled, src, dst, {u / pieces, u % pieces, length});
    });
  });
}

#ifdef QUERN_ONEDNN
namespace onednn {
Selection select_reorder(const KernelRequest& request, const TensorDesc& from,
                         const TensorDesc& to);
}
#endif

Result<KernelChoice> select_copy(const TensorDesc& from, const TensorDesc& to,
                                 const CpuTarget& target) {
  KernelChoice choice;
  choice.input_layouts = {from.layout};
  choice.output_layouts = {to.layout};
#ifdef QUERN_ONEDNN
  const bool is_padded = has_partial_block(from) || has_partial_block(to);
  if (is_padded && !target.team.calls_library_in_parallel()) {
    const Op op;  // an Identity
    const KernelInput input{.present = true, .desc = from};
    const TensorType output{to.dtype, to.shape};
    const PostOps none;
    const KernelRequest request{op, "reorder", {&input, 1}, {&output, 1}, {}, none, {}, target};
    QUERN_ASSIGN(auto reorder, onednn::select_reorder(request, from, to));
    if (reorder) return std::move(*reorder);
  }
#endif
  (void)target;
  choice.implementation = "copy";
  choice.work = std::make_unique<CopyKernel>(from, to);
  return choice;
}

void copy_elements(const TensorDesc& from, const std::byte* src, const TensorDesc& to,
                   std::byte* dst) {
  const CopyKernel kernel(from, to);
  const std::byte* inputs[] = {src};
  std::byte* outputs[] = {dst};
  (void)kernel.run({.inputs = inputs, .outputs = outputs}, nullptr, Parallel(1));
}

}  // namespace quern
