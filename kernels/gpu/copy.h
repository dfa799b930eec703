// SPDX-License-Identifier: Apache-2.0
// Copies of elements on a device.
#pragma once

#include <optional>

#include "kernels/contract/kernel.h"

namespace quern::gpu {

// One side of copy.comp, which copies element `index` of `shape` from offset + index . strides (in
// elements) to the same expression of the other side.
struct Side {
  Shape strides;
  std::int64_t offset = 0;
};
// The caller binds the buffers of `from` and `to` to the dispatch. nullopt if it does not fit the
// device.
std::optional<Dispatch> copy_dispatch(DType dtype, const Shape& shape, const Side& from,
                                      const Side& to, const GpuTarget& target);

}  // namespace quern::gpu

namespace quern {

// Like select_copy(), on a device: the source begins `from_offset` elements after the begin of its
// binding. Nothing if the device cannot run it.
Selection select_gpu_copy(const TensorDesc& from, std::int64_t from_offset, const TensorDesc& to,
                          const GpuTarget& target);

}  // namespace quern
