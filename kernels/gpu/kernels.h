// SPDX-License-Identifier: Apache-2.0
// The GPU kernels of the families that have one; each returns nothing ("unsupported") for requests
// that it does not support.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern::gpu {

// A build for some models is one for the CPU (graph/built.h).
#ifdef QUERN_ONLY
#define QUERN_GPU_KERNEL(name) inline constexpr GpuSelect name = nullptr
#else
#define QUERN_GPU_KERNEL(name) Selection name(const KernelRequest& request)
#endif

QUERN_GPU_KERNEL(select_unary);
QUERN_GPU_KERNEL(select_binary);
QUERN_GPU_KERNEL(select_where);
QUERN_GPU_KERNEL(select_cast);
QUERN_GPU_KERNEL(select_bit_cast);
QUERN_GPU_KERNEL(select_matmul);
QUERN_GPU_KERNEL(select_conv);
QUERN_GPU_KERNEL(select_pool);
QUERN_GPU_KERNEL(select_conv_transpose);
QUERN_GPU_KERNEL(select_attention);
QUERN_GPU_KERNEL(select_rnn);
QUERN_GPU_KERNEL(select_concat);
QUERN_GPU_KERNEL(select_softmax);
QUERN_GPU_KERNEL(select_reduce);
QUERN_GPU_KERNEL(select_arg_reduce);
QUERN_GPU_KERNEL(select_layer_norm);
QUERN_GPU_KERNEL(select_group_norm);
QUERN_GPU_KERNEL(select_resize);
QUERN_GPU_KERNEL(select_pad);
QUERN_GPU_KERNEL(select_gather);
QUERN_GPU_KERNEL(select_unpack_bits);
QUERN_GPU_KERNEL(select_tile);
QUERN_GPU_KERNEL(select_depth_space);
QUERN_GPU_KERNEL(select_quantize);
QUERN_GPU_KERNEL(select_dequantize);
QUERN_GPU_KERNEL(select_dynamic_quantize);
QUERN_GPU_KERNEL(select_conv_integer);
QUERN_GPU_KERNEL(select_qlinear_conv);
QUERN_GPU_KERNEL(select_matmul_integer);
QUERN_GPU_KERNEL(select_qlinear_matmul);
QUERN_GPU_KERNEL(select_scatter);
QUERN_GPU_KERNEL(select_gather_nd);
QUERN_GPU_KERNEL(select_top_k);
QUERN_GPU_KERNEL(select_grid_sample);
QUERN_GPU_KERNEL(select_lp_norm);
QUERN_GPU_KERNEL(select_batch_norm);
QUERN_GPU_KERNEL(select_lrn);
QUERN_GPU_KERNEL(select_cumulative);
QUERN_GPU_KERNEL(select_trilu);
QUERN_GPU_KERNEL(select_eye_like);
QUERN_GPU_KERNEL(select_one_hot);
QUERN_GPU_KERNEL(select_reverse_sequence);
QUERN_GPU_KERNEL(select_slice);
QUERN_GPU_KERNEL(select_max_unpool);
QUERN_GPU_KERNEL(select_roi_pool);
QUERN_GPU_KERNEL(select_einsum);
QUERN_GPU_KERNEL(select_dft);
QUERN_GPU_KERNEL(select_inverse);
QUERN_GPU_KERNEL(select_det);
QUERN_GPU_KERNEL(select_stft);

#undef QUERN_GPU_KERNEL

}  // namespace quern::gpu
