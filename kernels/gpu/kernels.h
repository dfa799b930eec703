// SPDX-License-Identifier: Apache-2.0
// The GPU kernels of the families that have one; each returns nothing ("unsupported") for requests
// that it does not support.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern::gpu {

Selection select_unary(const KernelRequest& request);
Selection select_binary(const KernelRequest& request);
Selection select_where(const KernelRequest& request);
Selection select_cast(const KernelRequest& request);
Selection select_matmul(const KernelRequest& request);
Selection select_conv(const KernelRequest& request);
Selection select_pool(const KernelRequest& request);
Selection select_conv_transpose(const KernelRequest& request);
Selection select_attention(const KernelRequest& request);
Selection select_rnn(const KernelRequest& request);
Selection select_concat(const KernelRequest& request);
Selection select_softmax(const KernelRequest& request);
Selection select_reduce(const KernelRequest& request);
Selection select_arg_reduce(const KernelRequest& request);
Selection select_layer_norm(const KernelRequest& request);
Selection select_group_norm(const KernelRequest& request);
Selection select_resize(const KernelRequest& request);
Selection select_pad(const KernelRequest& request);
Selection select_gather(const KernelRequest& request);
Selection select_tile(const KernelRequest& request);
Selection select_depth_space(const KernelRequest& request);
Selection select_quantize(const KernelRequest& request);
Selection select_dequantize(const KernelRequest& request);
Selection select_dynamic_quantize(const KernelRequest& request);
Selection select_conv_integer(const KernelRequest& request);
Selection select_qlinear_conv(const KernelRequest& request);
Selection select_matmul_integer(const KernelRequest& request);
Selection select_qlinear_matmul(const KernelRequest& request);
Selection select_scatter(const KernelRequest& request);
Selection select_gather_nd(const KernelRequest& request);
Selection select_top_k(const KernelRequest& request);
Selection select_grid_sample(const KernelRequest& request);
Selection select_lp_norm(const KernelRequest& request);
Selection select_batch_norm(const KernelRequest& request);
Selection select_lrn(const KernelRequest& request);
Selection select_cumulative(const KernelRequest& request);
Selection select_trilu(const KernelRequest& request);
Selection select_eye_like(const KernelRequest& request);
Selection select_one_hot(const KernelRequest& request);
Selection select_reverse_sequence(const KernelRequest& request);
Selection select_slice(const KernelRequest& request);
Selection select_max_unpool(const KernelRequest& request);
Selection select_roi_pool(const KernelRequest& request);
Selection select_einsum(const KernelRequest& request);
Selection select_dft(const KernelRequest& request);
Selection select_inverse(const KernelRequest& request);
Selection select_stft(const KernelRequest& request);

}  // namespace quern::gpu
