// SPDX-License-Identifier: Apache-2.0
// The implementations that use oneDNN.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern {

Selection select_conv_onednn(const KernelRequest& request);
// The same where a measurement wants another form than the rules choose: not Winograd's, Winograd's
// wherever there is one, and each post-op as a step of its own.
Selection select_conv_onednn_direct(const KernelRequest& request);
Selection select_conv_onednn_winograd(const KernelRequest& request);
Selection select_conv_onednn_apart(const KernelRequest& request);
Selection select_conv_transpose_onednn(const KernelRequest& request);
Selection select_matmul_onednn(const KernelRequest& request);
Selection select_pool_onednn(const KernelRequest& request);

}  // namespace quern
