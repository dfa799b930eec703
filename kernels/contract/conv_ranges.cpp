// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/conv_ranges.h"

#include <algorithm>
#include <cmath>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

// Parts of `count` indices that begin at multiples of `unit`, about as many as `parts`.
std::int64_t part_size(std::int64_t count, std::int64_t parts, std::int64_t unit) {
  return round_up(ceil_div(count, std::max<std::int64_t>(parts, 1)), unit);
}

// The rows of a part of an image, whose whole is `work`. Winograd's kernels want some rows at once.
std::int64_t rows_of_part(double work, std::int64_t rows, const ConvPartSizes& sizes) {
  constexpr std::int64_t for_winograd = 16;
  const auto parts = static_cast<std::int64_t>(std::ceil(work / sizes.part_work));
  const std::int64_t step = (rows + std::min(parts, rows) - 1) / std::min(parts, rows);
  const double of_row = work / static_cast<double>(rows);
  return of_row * for_winograd <= sizes.most_work ? std::max(step, std::min(rows, for_winograd))
                                                  : step;
}

// Output channels that may be cut off: whole groups, and whole blocks of the layouts of x and y.
std::int64_t channel_unit(const KernelRequest& r) {
  constexpr std::int64_t block = 16;
  const std::int64_t group = r.as<Conv>().group;
  if (group == 1) return block;
  const std::int64_t in = r.shape(0)[1] / group;
  const std::int64_t out = r.outputs[0].shape[1] / group;
  std::int64_t groups = 1;
  while (groups * in % block != 0 || groups * out % block != 0) ++groups;
  return groups * out;
}

}  // namespace

std::size_t row_axis_of(const KernelRequest& r) {
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const ResolvedWindow w =
      resolve_window(r.as<Conv>().window, x.dims().subspan(2), r.shape(1).dims().subspan(2));
  std::size_t axis = 2;
  while (axis + 1 < y.rank() && x[axis] == 1 && y[axis] == 1 && w.kernel[axis - 2] == 1 &&
         w.pads_begin[axis - 2] == 0)
    ++axis;
  return axis;
}

double conv_work(const KernelRequest& r) {
  const auto padded = [](std::int64_t channels) { return round_up(channels, 8); };
  const std::int64_t group = r.as<Conv>().group;
  const Shape& y = r.outputs[0].shape;
  // One channel a group is a vector of groups.
  const bool depthwise = r.shape(1)[1] == 1 && r.shape(1)[0] == group;
  const std::int64_t channels = depthwise ? padded(y[1]) : padded(y[1] / group) * group;
  // A product of matrices for each channel, at 3 to 4 GFLOP/s.
  const double slowness = depthwise && !r.inputs[1].constant ? 16 : 1;
  return slowness * 2.0 * static_cast<double>(y[0] * channels) *
         static_cast<double>(y.elements(2)) * static_cast<double>(r.shape(1).elements(1));
}

std::int64_t conv_line(const KernelRequest& r) {
  const std::size_t row_axis = row_axis_of(r);
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const bool is_line = x.elements(row_axis + 1) == 1 && r.shape(1).elements(2) > 1;
  return is_line ? std::max(x[row_axis], y[row_axis]) : 0;
}

std::vector<PartRange> ranges_of(const KernelRequest& r, const ConvPartSizes& sizes) {
  std::vector<PartRange> ranges;
  const double work = conv_work(r);
  const std::size_t row_axis = row_axis_of(r);
  const std::int64_t images = r.outputs[0].shape[0];
  const std::int64_t rows = r.outputs[0].shape[row_axis];
  const std::int64_t channels = r.outputs[0].shape[1];
  const std::int64_t line = conv_line(r);
  const bool is_long_line = line > sizes.most_line;
  if (work <= sizes.most_work && !is_long_line) return ranges;
  const double of_image = work / static_cast<double>(images);
  if (of_image <= sizes.part_work && !is_long_line) {
    const auto step =
        std::max<std::int64_t>(static_cast<std::int64_t>(sizes.part_work / of_image), 1);
    for (std::int64_t n = 0; n < images; n += step)
      ranges.push_back({n, std::min(step, images - n), 0, rows, 0, channels});
    return ranges;
  }
  std::int64_t step = rows_of_part(of_image, rows, sizes);
  if (is_long_line) step = std::min(step, part_size(rows, ceil_div(line, sizes.part_line), 1));
  for (std::int64_t n = 0; n < images; ++n)
    for (std::int64_t from = 0; from < rows; from += step)
      ranges.push_back({n, 1, from, std::min(from + step, rows), 0, channels});
  return ranges;
}

// ---- parts for threads -------------------------------------------------------------------------

std::int64_t useful_parts(const KernelRequest& r, const ConvPartSizes& sizes) {
  return static_cast<std::int64_t>(
      std::min(conv_work(r) / sizes.least_work, 2.0 * r.target.team.threads));
}

std::vector<PartRange> image_ranges(const KernelRequest& r, std::int64_t parts) {
  const Shape& y = r.outputs[0].shape;
  const std::int64_t rows = y[row_axis_of(r)];
  std::vector<PartRange> ranges;
  const std::int64_t step = part_size(y[0], parts, 1);
  for (std::int64_t n = 0; n < y[0]; n += step)
    ranges.push_back({n, std::min(step, y[0] - n), 0, rows, 0, y[1]});
  return ranges;
}

std::vector<PartRange> channel_ranges(const KernelRequest& r, std::int64_t parts) {
  // Kernels of AVX-512 take up to four blocks of 16 channels at once, and lose with fewer.
  constexpr std::int64_t enough = 64;
  const Shape& y = r.outputs[0].shape;
  const std::int64_t useful = ceil_div(parts, y[0]);
  const std::int64_t least = ceil_div<std::int64_t>(r.target.team.threads, y[0]);
  const std::int64_t of_image = std::min(useful, std::max(least, y[1] / enough));
  const std::int64_t step = part_size(y[1], of_image, channel_unit(r));
  const std::int64_t rows = y[row_axis_of(r)];
  std::vector<PartRange> ranges;
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t c = 0; c < y[1]; c += step)
      ranges.push_back({n, 1, 0, rows, c, std::min(step, y[1] - c)});
  return ranges;
}

// A part has two rows at least: oneDNN is given a single one without its dimension, and other
// kernels.
std::vector<PartRange> row_ranges(const KernelRequest& r, std::int64_t parts) {
  const Shape& y = r.outputs[0].shape;
  const std::int64_t rows = y[row_axis_of(r)];
  const std::int64_t of_image =
      std::clamp<std::int64_t>(ceil_div(parts, y[0]), 1, std::max<std::int64_t>(rows / 2, 1));
  std::vector<PartRange> ranges;
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t i = 0; i < of_image; ++i)
      ranges.push_back({n, 1, rows * i / of_image, rows * (i + 1) / of_image, 0, y[1]});
  return ranges;
}

}  // namespace quern
