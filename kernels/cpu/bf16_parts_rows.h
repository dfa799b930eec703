// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// Row-major, or channels last where the axis is that of channels.
Selection select_bf16_parts_rows(const KernelRequest& request);

}  // namespace quern
