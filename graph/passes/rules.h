// SPDX-License-Identifier: Apache-2.0
// The rules, by the file that defines them; the comment there says what each rewrites.
#pragma once

#include <quern/status.h>

#include "graph/graph.h"

namespace quern::passes {

// fold.cpp
Result<bool> fold_constants(Graph& g, NodeId id);
Result<bool> fold_shape(Graph& g, NodeId id);
Result<bool> fold_gathered_shape(Graph& g, NodeId id);
Result<bool> fold_sliced_shape(Graph& g, NodeId id);
Result<bool> drop_unread_outputs(Graph& g, NodeId id);

// common_subexpressions.cpp
Result<bool> merge_common(Graph& g);

// control_flow.cpp
Result<bool> inline_if(Graph& g, NodeId id);
Result<bool> move_constants_into_bodies(Graph& g, NodeId id);
Result<bool> drop_captures(Graph& g, NodeId id);

// movement.cpp
Result<bool> drop_movement(Graph& g, NodeId id);
Result<bool> drop_empty_parts(Graph& g, NodeId id);
Result<bool> merge_concats(Graph& g, NodeId id);
Result<bool> drop_expand(Graph& g, NodeId id);
Result<bool> drop_reduce(Graph& g, NodeId id);
Result<bool> drop_where(Graph& g, NodeId id);
Result<bool> gather_to_slice(Graph& g, NodeId id);
Result<bool> slice_before(Graph& g, NodeId id);

// casts.cpp
Result<bool> drop_cast(Graph& g, NodeId id);
Result<bool> merge_casts(Graph& g, NodeId id);

// algebra.cpp
Result<bool> move_constant_right(Graph& g, NodeId id);
Result<bool> drop_neutral(Graph& g, NodeId id);
Result<bool> drop_left_constant(Graph& g, NodeId id);
Result<bool> subtract_to_add(Graph& g, NodeId id);
Result<bool> divide_to_multiply(Graph& g, NodeId id);
Result<bool> simplify_power(Graph& g, NodeId id);
Result<bool> extremum_to_clip(Graph& g, NodeId id);
Result<bool> reassociate_integers(Graph& g, NodeId id);
Result<bool> drop_repeated_unary(Graph& g, NodeId id);
Result<bool> merge_clips(Graph& g, NodeId id);
Result<bool> simplify_clip(Graph& g, NodeId id);

// views.cpp
Result<bool> merge_reshapes(Graph& g, NodeId id);
Result<bool> to_reshape(Graph& g, NodeId id);
Result<bool> drop_transpose(Graph& g, NodeId id);
Result<bool> merge_transposes(Graph& g, NodeId id);
Result<bool> pull_transpose(Graph& g, NodeId id);
Result<bool> sink_transposes(Graph& g, NodeId id);
Result<bool> reduce_before_transpose(Graph& g, NodeId id);
Result<bool> transpose_in_matmul(Graph& g, NodeId id);

// einsum.cpp
Result<bool> einsum_to_matmul(Graph& g, NodeId id);

// quantized.cpp
Result<bool> cancel_quantize(Graph& g, NodeId id);
Result<bool> move_quantized(Graph& g, NodeId id);
Result<bool> recognise_qlinear_conv(Graph& g, NodeId id);
Result<bool> recognise_qlinear_matmul(Graph& g, NodeId id);

// activations.cpp
Result<bool> recognise_gated(Graph& g, NodeId id);
Result<bool> recognise_hard_sigmoid(Graph& g, NodeId id);
Result<bool> recognise_softplus(Graph& g, NodeId id);
Result<bool> recognise_sigmoid(Graph& g, NodeId id);
Result<bool> recognise_softsign(Graph& g, NodeId id);
Result<bool> recognise_leaky_relu(Graph& g, NodeId id);

// norms.cpp
Result<bool> recognise_rms_norm(Graph& g, NodeId id);
Result<bool> center_layer_norm(Graph& g, NodeId id);
Result<bool> scale_layer_norm(Graph& g, NodeId id);
Result<bool> bias_layer_norm(Graph& g, NodeId id);
Result<bool> recognise_group_norm(Graph& g, NodeId id);
Result<bool> recognise_reduction(Graph& g, NodeId id);
Result<bool> recognise_vector_norm(Graph& g, NodeId id);

// softmax.cpp
Result<bool> recognise_softmax(Graph& g, NodeId id);
Result<bool> drop_softmax_shift(Graph& g, NodeId id);
Result<bool> recognise_log_softmax(Graph& g, NodeId id);

// attention.cpp
Result<bool> recognise_attention(Graph& g, NodeId id);
Result<bool> attend_to_cache(Graph& g, NodeId id);

// transposed_conv.cpp
Result<bool> transposed_conv_to_conv(Graph& g, NodeId id);

// window_pads.cpp
Result<bool> absorb_conv_pads(Graph& g, NodeId id);
Result<bool> absorb_pool_pads(Graph& g, NodeId id);

// affine.cpp
Result<bool> expand_batch_norm(Graph& g, NodeId id);
Result<bool> fold_scale(Graph& g, NodeId id);
Result<bool> fold_bias(Graph& g, NodeId id);
Result<bool> scale_before_bias(Graph& g, NodeId id);
Result<bool> fold_alpha(Graph& g, NodeId id);
Result<bool> fold_input_scale(Graph& g, NodeId id);
Result<bool> fold_input_shift(Graph& g, NodeId id);
Result<bool> fold_into_group_norm(Graph& g, NodeId id);

// post_ops.cpp
Result<bool> fuse_unary(Graph& g, NodeId id);
Result<bool> fuse_binary(Graph& g, NodeId id);

}  // namespace quern::passes
