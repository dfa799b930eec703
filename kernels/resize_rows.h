// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"
#include "graph/ops/resize_axes.h"

namespace quern {

// Every axis of the input; nothing when an operand is not constant.
std::optional<ResizeAxes> constant_resize_axes(const KernelRequest& request);
Selection select_resize_rows(const KernelRequest& request);

}  // namespace quern
