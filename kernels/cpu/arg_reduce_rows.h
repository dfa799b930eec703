// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

// ArgMax and ArgMin of f32.
Selection select_arg_reduce_rows(const KernelRequest& request);

}  // namespace quern
