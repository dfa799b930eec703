// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

Selection select_quantize_rows(const KernelRequest& request);
Selection select_dequantize_rows(const KernelRequest& request);
Selection select_dynamic_quantize_rows(const KernelRequest& request);

}  // namespace quern
