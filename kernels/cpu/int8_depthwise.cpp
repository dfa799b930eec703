// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions, line by line: four lines of x are woven into one of four bytes a lane, so
// that one instruction takes four taps; what is woven once is read by all taps along the line.
// Columns outside x are its zero point.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/int8_conv_kernel.h"
#include "kernels/simd/int8.h"

namespace quern {

void Int8ConvKernel::run_depthwise(const Run& run, std::int64_t task, std::int64_t begin,
                                   std::int64_t end) const {
  auto* woven = reinterpret_cast<std::uint8_t*>(run.scratch + task_at_ +
                                                static_cast<std::size_t>(task) * task_bytes_);
  StopCheck check(run.stop);
  for (std::int64_t p = begin; p < end;) {
    const Position at = position_of(p);
    const std::int64_t n = std::min({lines_.piece, out_[2] - at.at[2], end - p});
    if (check.spend(n * conv_.groups * conv_.taps() / 16 + 64)) return;
    for (std::int64_t channel = 0; channel < conv_.groups; channel += lines_.block) {
      weave(run, at, n, channel, woven);
      run_lines(run, woven, p, n, channel);
    }
    p += n;
  }
}

// The columns of x that n positions from `at` on read, of a block of channels.
void Int8ConvKernel::weave(const Run& run, const Position& at, std::int64_t n, std::int64_t channel,
                           std::uint8_t* to) const {
  const std::int64_t columns = lines_.columns(n);
  const std::int64_t first = at.at[2] * lines_.stride - lines_.pad;  // of x
  const std::int64_t left = std::clamp<std::int64_t>(-first, 0, columns);
  const std::int64_t right = std::clamp<std::int64_t>(in_[2] - first, left, columns);
  const std::int64_t lanes = std::min(lines_.block, conv_.groups - channel);
  const std::int64_t column_bytes = lines_.block * int8_woven_lines;
  const auto fill = [&](std::uint8_t* from, std::int64_t count) {
    std::memset(from, run.x_zero, static_cast<std::size_t>(count * column_bytes));
  };
  for (std::int64_t g = 0; g < lines_.groups(); ++g, to += lines_.group_bytes()) {
    Int8Weave woven{.columns = lines_.is_flat ? 1 : right - left,
                    .bytes = lines_.is_flat ? (right - left) * lanes : lanes,
                    .to_step = column_bytes,
                    .to = to + left * column_bytes};
    for (std::int64_t k = 0; k < int8_woven_lines; ++k) {
      const std::int64_t line = line_of(at, g * int8_woven_lines + k);
      woven.steps[k] = line < 0 ? 0 : conv_.groups;
      woven.lines[k] =
          line < 0 ? run.outside : run.x + (line * in_[2] + first + left) * conv_.groups + channel;
    }
    fill(to, left);
    if (left < right) simd_int8().weave(woven);
    if (x_signed_)
      std::for_each(to + left * column_bytes, to + right * column_bytes,
                    [](std::uint8_t& b) { b ^= 0x80; });
    fill(to + right * column_bytes, columns - right);
  }
}

// The line of x that line i of the window falls on, counted over all images; -1: it falls outside,
// or there is no such line.
std::int64_t Int8ConvKernel::line_of(const Position& at, std::int64_t i) const {
  if (i >= lines_.lines) return -1;
  const std::int64_t at0 =
      taps_at_[0][static_cast<std::size_t>(at.at[0] * kernel_[0] + i / kernel_[1])];
  const std::int64_t at1 =
      taps_at_[1][static_cast<std::size_t>(at.at[1] * kernel_[1] + i % kernel_[1])];
  return (at0 | at1) < 0 ? -1 : (at.image * in_[0] + at0) * in_[1] + at1;
}

// n positions of a block of channels.
void Int8ConvKernel::run_lines(const Run& run, const std::uint8_t* woven, std::int64_t position,
                               std::int64_t n, std::int64_t channel) const {
  alignas(64) std::int32_t sums[int8_lanes_at_once] = {};
  const std::int64_t lanes = std::min(lines_.block, conv_.groups - channel);
  Int8Depthwise d{.woven = woven,
                  .group_bytes = lines_.group_bytes(),
                  .groups = lines_.groups(),
                  .tap_bytes = lines_.dilation * lines_.block * int8_woven_lines,
                  .taps = lines_.taps,
                  .weights = reinterpret_cast<const std::int8_t*>(run.weights) +
                             channel / lines_.block * lines_.block_bytes(),
                  .weight_lanes = lines_.weight_lanes,
                  .period = lines_.block,
                  .sums = sums};
  if (lines_.is_flat) {
    d.phase_step = d.segment_step = d.lanes = int8_lanes;
    for (std::int64_t i = 0; i < n * lanes; i += int8_lanes_at_once) {
      const std::int64_t count = std::min(int8_lanes_at_once, n * lanes - i);
      d.woven = woven + i * int8_woven_lines;
      d.phase = i % lanes;
      d.segments = ceil_div(count, int8_lanes);
      simd_int8().depthwise(d);
      write(run, {sums, count, 1, position + i / lanes, d.phase, count}, nullptr);
    }
    return;
  }
  d.segment_step = lines_.stride * lines_.block;
  d.lanes = lanes;
  for (std::int64_t i = 0; i < n; i += int8_segments_at_once) {
    d.woven = woven + i * d.segment_step * int8_woven_lines;
    d.segments = std::min(int8_segments_at_once, n - i);
    simd_int8().depthwise(d);
    write(run, {sums, int8_lanes, d.segments, position + i, channel, lanes}, nullptr);
  }
}

}  // namespace quern
