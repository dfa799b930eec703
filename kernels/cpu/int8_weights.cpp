// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/int8_weights.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/contract/movement.h"

namespace quern {
namespace {

// The byte whose xor turns an element of `type`, i8 or u8, into i8.
std::byte flip_of(DType type) {
  return std::byte{type == DType::i8 ? std::uint8_t{0} : std::uint8_t{0x80}};
}

}  // namespace

Int8Lines::Int8Lines(const Int8Conv& c) : channels(c.groups) {
  // The rest of the first cache is for weights; fewer positions are not worth the ends.
  const std::int64_t cached_bytes = c.scratch ? 16 << 10 : 1 << 10;
  const std::int64_t least = c.scratch ? 16 : 1;
  const ResolvedWindow& w = c.window;
  const std::size_t last = w.rank() - 1;
  const bool is_window = w.rank() > 0;
  taps = is_window ? w.kernel[last] : 1;
  stride = is_window ? w.strides[last] : 1;
  dilation = is_window ? w.dilations[last] : 1;
  pad = is_window ? w.pads_begin[last] : 0;
  lines = c.taps() / taps;
  reach = (taps - 1) * dilation;
  is_flat = stride == 1 && channels < int8_lanes;
  block = is_flat ? channels : std::min(channels, int8_lanes);
  weight_lanes = is_flat ? channels + int8_lanes : int8_lanes;
  const std::int64_t fit = cached_bytes / (groups() * int8_woven_lines * block);
  const std::int64_t out = is_window ? c.out[last] : 1;
  piece = std::clamp(std::max((fit - reach) / stride, least), std::int64_t{1}, out);
}

bool Int8Lines::is_sensible() const {
  constexpr std::int64_t most = 1 << 20;  // bytes
  return reach < most && stride < most && groups() < most && groups() * columns(piece) < most &&
         woven_bytes() <= most;
}

// A panel reads its columns side by side: they are neighbours in a matrix, and in the weights of a
// convolution lines that stay in the first-level cache.
// NOLINTNEXTLINE(readability-function-size): a range of panels with what all of them share
void pack_panels(const Int8Conv& c, const PackedWeights& packed, DType type, const std::byte* w,
                 std::byte* to, std::int64_t begin, std::int64_t end, StopCheck& check) {
  const std::byte flip = flip_of(type);
  const std::int64_t group_size = simd_int8().group;
  const std::byte packed_flip{simd_int8().flip};
  const std::int64_t depth = c.taps() * c.depth;
  for (std::int64_t unit = begin; unit < end && !check.is_over(); ++unit) {
    const std::int64_t first = unit % packed.panels * int8_panel_columns;
    const std::int64_t columns = std::min<std::int64_t>(int8_panel_columns, c.columns - first);
    const std::int64_t channel = unit / packed.panels * c.columns + first;
    const std::byte* from = w + channel * c.column_stride;
    std::byte* panel = to + unit * packed.panel_bytes();
    std::array<std::int32_t, int8_panel_columns> sums{};
    for_each_until(depth, columns, check, [&](std::int64_t k) {
      const std::byte* x = from + k % c.depth * c.depth_stride + k / c.depth * c.tap_stride;
      std::byte* y = panel + k / group_size * int8_panel_columns * group_size + k % group_size;
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::byte flipped = x[i * c.column_stride] ^ flip;
        y[i * group_size] = flipped ^ packed_flip;
        sums[static_cast<std::size_t>(i)] += static_cast<std::int8_t>(flipped);
      }
    });
    std::memcpy(to + packed.sums + channel * 4, sums.data(), static_cast<std::size_t>(columns) * 4);
  }
}

void pack_depthwise(const Int8Conv& c, const PackedWeights& packed, DType type, const std::byte* w,
                    std::byte* to, StopCheck& check) {
  const Int8Lines l(c);
  const std::byte flip = flip_of(type);
  auto* sums = reinterpret_cast<std::int32_t*>(to + packed.sums);
  for (std::int64_t channel = 0; channel < c.channels() && !check.spend(8); ++channel) {
    const std::byte* from = w + channel * c.column_stride;
    std::byte* block = to + channel / l.block * l.block_bytes();
    std::int32_t sum = 0;
    for_each_until(c.taps(), 8, check, [&](std::int64_t k) {
      const std::byte flipped = from[k * c.tap_stride] ^ flip;
      const std::int64_t line = k / l.taps;
      std::byte* tap =
          block + line % int8_woven_lines +
          (line / int8_woven_lines * l.taps + k % l.taps) * l.weight_lanes * int8_woven_lines;
      std::int64_t lane = channel % l.block;
      do {
        tap[lane * int8_woven_lines] = flipped;
        lane += l.block;
      } while (l.is_flat && lane < l.weight_lanes);
      sum += static_cast<std::int8_t>(flipped);
    });
    sums[channel] = sum;
  }
}

}  // namespace quern
