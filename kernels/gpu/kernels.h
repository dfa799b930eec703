// SPDX-License-Identifier: Apache-2.0
// The device's form of every family that has one; each answers "not for me" to what it cannot do.
#pragma once

#include "kernels/kernel.h"

namespace quern::gpu {

Selection select_unary(const KernelRequest& request);
Selection select_binary(const KernelRequest& request);
Selection select_where(const KernelRequest& request);
Selection select_cast(const KernelRequest& request);
Selection select_matmul(const KernelRequest& request);
Selection select_conv(const KernelRequest& request);
Selection select_pool(const KernelRequest& request);
Selection select_concat(const KernelRequest& request);

}  // namespace quern::gpu
