// SPDX-License-Identifier: Apache-2.0
// A convolution in parts: so that one call of a library takes milliseconds whatever the size, and a
// deadline is seen between two calls; or so that several threads call a library at one time.
#pragma once

#include "kernels/contract/cuts.h"
#include "kernels/contract/kernel.h"

namespace quern {

// Work is counted in floating-point operations, those on the padding of channels to whole vectors
// among them.
struct ConvPartSizes {
  double most_work = cut_work(4e9);   // of a call that is not cut
  double part_work = cut_work(1e9);   // 10 to 50 ms of one thread
  double least_work = cut_work(1e6);  // of a part for a thread: some 20 us
  // Elements of a line of the result that is not cut, and of a part of one that is: oneDNN's
  // kernels for AVX-512 unroll a line, 1.4 us of compiling for each element.
  std::int64_t most_line = cut_size(4096);
  std::int64_t part_line = cut_size(2048);
};

// Makes the kernel of a Conv from kernels that `select` makes for some of its images, or for some
// rows of one image (of the first spatial dimension that is longer than 1), where all of it is so
// much work that one call would take long, or one line that is long to compile for. Rows that do
// not lie side by side are copied to scratch memory and back, which costs some percent: kernels
// take dense tensors alone. Nothing if the work is less, or if the tensors of `select`'s kernels
// cannot be cut so.
Selection conv_in_parts(const KernelRequest& request, Selection (*select)(const KernelRequest&),
                        const ConvPartSizes& sizes = {});

// The same for a Team that calls the library in parallel: makes a kernel that computes some images
// or output channels (or rows, where the layout has channels last) in each of some parts, twice as
// many as threads where that leaves enough work for each. `select` is asked for kernels of one
// thread.
Selection conv_at_one_time(const KernelRequest& request, Selection (*select)(const KernelRequest&),
                           const ConvPartSizes& sizes = {});

}  // namespace quern
