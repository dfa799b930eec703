// SPDX-License-Identifier: Apache-2.0
// Which parts a convolution is computed in: some images, some rows of one image, or some of its
// output channels.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/contract/conv_parts.h"

namespace quern {

// Images [image, image + images) and, of each, the rows [from, to) of the result, in the output
// channels [channel, channel + channels).
struct PartRange {
  std::int64_t image, images, from, to;
  std::int64_t channel, channels;
};

// The dimension whose indices are rows: the first spatial one, or the first behind those that have
// one position and nothing around it.
std::size_t row_axis_of(const KernelRequest& conv);

// Floating-point operations, as ConvPartSizes counts them.
double conv_work(const KernelRequest& conv);

// The elements of a line, of x or of the result, where rows have one element for each channel, as
// those of a signal: oneDNN's kernels for AVX-512 have code for each of them. 0 where rows are not
// such, or the window has one tap.
std::int64_t conv_line(const KernelRequest& conv);

// Parts of little enough work, and of short enough lines, in the order of memory; one or none: the
// convolution is not cut.
std::vector<PartRange> ranges_of(const KernelRequest& conv, const ConvPartSizes& sizes);

// The number of parts that are worth a thread's while, and about as many of images, of channels
// and of rows.
std::int64_t useful_parts(const KernelRequest& conv, const ConvPartSizes& sizes);
std::vector<PartRange> image_ranges(const KernelRequest& conv, std::int64_t parts);
std::vector<PartRange> channel_ranges(const KernelRequest& conv, std::int64_t parts);
std::vector<PartRange> row_ranges(const KernelRequest& conv, std::int64_t parts);

}  // namespace quern
