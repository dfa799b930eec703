// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

namespace quern {

Selection select_pool_rows(const KernelRequest& request);

}  // namespace quern
