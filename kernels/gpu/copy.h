// SPDX-License-Identifier: Apache-2.0
// Moving elements on a device.
#pragma once

#include <optional>

#include "kernels/contract/kernel.h"

namespace quern::gpu {

// What copy.comp moves: element `index` of `shape` from offset + index . strides to the same sum of
// the other side, in elements.
struct Side {
  Shape strides;
  std::int64_t offset = 0;
};
// `from` and `to` are bound to the dispatch by the caller. Nothing when it does not fit the device.
std::optional<Dispatch> copy_dispatch(DType dtype, const Shape& shape, const Side& from,
                                      const Side& to, const GpuTarget& target);

}  // namespace quern::gpu

namespace quern {

// Like select_copy(), on a device: the source begins `from_offset` elements after what is bound.
// Nothing: the device cannot.
Selection select_gpu_copy(const TensorDesc& from, std::int64_t from_offset, const TensorDesc& to,
                          const GpuTarget& target);

}  // namespace quern
