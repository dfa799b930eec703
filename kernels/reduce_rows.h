// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace quern {

// Bit d: dimension d of the input is folded. Nothing when the axes are not known.
std::optional<std::uint32_t> folded_axes(const KernelRequest& request);
Selection select_reduce_rows(const KernelRequest& request);

}  // namespace quern
