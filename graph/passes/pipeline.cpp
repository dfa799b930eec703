// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/pipeline.h"

#include "graph/ops/attention.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/concat.h"
#include "graph/ops/control_flow.h"
#include "graph/ops/conv.h"
#include "graph/ops/einsum.h"
#include "graph/ops/gather.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/matmul.h"
#include "graph/ops/pad.h"
#include "graph/ops/pool.h"
#include "graph/ops/quantize.h"
#include "graph/ops/rearrange.h"
#include "graph/ops/reduce.h"
#include "graph/ops/resampling.h"
#include "graph/ops/reshape.h"
#include "graph/ops/sequences.h"
#include "graph/ops/shape_of.h"
#include "graph/ops/slice.h"
#include "graph/ops/softmax.h"
#include "graph/ops/split.h"
#include "graph/ops/tile.h"
#include "graph/ops/transpose.h"
#include "graph/ops/unary.h"
#include "graph/ops/where.h"
#include "graph/passes/rewrite.h"
#include "graph/passes/rules.h"

namespace quern {
namespace {

using passes::any_root;
using passes::Pass;
using passes::roots;
using enum passes::Stage;

// In the order in which they are tried at a node. Each stage runs to its fixpoint before the next
// one begins.
constexpr Pass table[] = {
    {"merge_common", simplify, {}, nullptr, passes::merge_common},
    // what is known
    {"fold_constants", simplify, any_root, passes::fold_constants},
    {"fold_shape", simplify, roots<ShapeOf, SizeOf>(), passes::fold_shape},
    {"fold_gathered_shape", simplify, roots<Gather>(), passes::fold_gathered_shape},
    {"fold_sliced_shape", simplify, roots<Slice>(), passes::fold_sliced_shape},
    {"drop_unread_outputs", simplify, any_root, passes::drop_unread_outputs},
    {"inline_if", simplify, roots<If>(), passes::inline_if},
    {"move_constants_into_bodies", simplify, roots<If, Loop, Scan, SequenceMap>(),
     passes::move_constants_into_bodies},
    {"drop_captures", simplify, roots<If, Loop, Scan, SequenceMap>(), passes::drop_captures},
    // what does nothing
    {"drop_movement", simplify,
     roots<Identity, Reshape, Squeeze, Unsqueeze, Flatten, Expand, Split, Tile, Pad, Slice, Resize,
           Concat, DepthSpace>(),
     passes::drop_movement},
    {"drop_cast", simplify, roots<Cast>(), passes::drop_cast},
    {"drop_transpose", simplify, roots<Transpose>(), passes::drop_transpose},
    {"drop_reduce", simplify, roots<Reduce>(), passes::drop_reduce},
    {"drop_where", simplify, roots<Where>(), passes::drop_where},
    {"drop_expand", simplify, roots<Binary, Where, MatMul>(), passes::drop_expand},
    {"gather_to_slice", simplify, roots<Gather>(), passes::gather_to_slice},
    {"drop_empty_parts", simplify, roots<Concat>(), passes::drop_empty_parts},
    // one form for each thing
    {"move_constant_right", simplify, roots<Binary>(), passes::move_constant_right},
    {"drop_neutral", simplify, roots<Binary>(), passes::drop_neutral},
    {"drop_left_constant", simplify, roots<Binary>(), passes::drop_left_constant},
    {"subtract_to_add", simplify, roots<Binary>(), passes::subtract_to_add},
    {"divide_to_multiply", simplify, roots<Binary>(), passes::divide_to_multiply},
    {"simplify_power", simplify, roots<Binary>(), passes::simplify_power},
    {"extremum_to_clip", simplify, roots<Binary>(), passes::extremum_to_clip},
    {"reassociate_integers", simplify, roots<Binary>(), passes::reassociate_integers},
    {"drop_repeated_unary", simplify, roots<Unary>(), passes::drop_repeated_unary},
    {"merge_clips", simplify, roots<Unary>(), passes::merge_clips},
    {"simplify_clip", simplify, roots<Unary>(), passes::simplify_clip},
    {"merge_casts", simplify, roots<Cast>(), passes::merge_casts},
    {"merge_concats", simplify, roots<Concat>(), passes::merge_concats},
    {"merge_reshapes", simplify, roots<Reshape, Squeeze, Unsqueeze, Flatten>(),
     passes::merge_reshapes},
    {"to_reshape", simplify, roots<Squeeze, Unsqueeze, Flatten>(), passes::to_reshape},
    {"merge_transposes", simplify, roots<Transpose>(), passes::merge_transposes},
    {"pull_transpose", simplify, roots<Transpose>(), passes::pull_transpose},
    {"sink_transposes", simplify, roots<Binary>(), passes::sink_transposes},
    {"reduce_before_transpose", simplify, roots<Reduce>(), passes::reduce_before_transpose},
    {"transpose_in_matmul", simplify, roots<MatMul>(), passes::transpose_in_matmul},
    {"einsum_to_matmul", simplify, roots<Einsum>(), passes::einsum_to_matmul},
    // integers, before their floats change
    {"cancel_quantize", simplify, roots<Quantize>(), passes::cancel_quantize},
    {"move_quantized", simplify, roots<Quantize>(), passes::move_quantized},
    {"recognise_qlinear_conv", simplify, roots<Quantize>(), passes::recognise_qlinear_conv},
    {"recognise_qlinear_matmul", simplify, roots<Quantize>(), passes::recognise_qlinear_matmul},
    // what is spelled out
    {"recognise_gated", simplify, roots<Binary>(), passes::recognise_gated},
    {"recognise_hard_sigmoid", simplify, roots<Unary, Binary>(), passes::recognise_hard_sigmoid},
    {"recognise_softplus", simplify, roots<Unary>(), passes::recognise_softplus},
    {"recognise_sigmoid", simplify, roots<Unary>(), passes::recognise_sigmoid},
    {"recognise_softsign", simplify, roots<Binary>(), passes::recognise_softsign},
    {"recognise_leaky_relu", simplify, roots<Binary>(), passes::recognise_leaky_relu},
    {"recognise_rms_norm", simplify, roots<Binary>(), passes::recognise_rms_norm},
    {"center_layer_norm", simplify, roots<LayerNorm>(), passes::center_layer_norm},
    {"scale_layer_norm", simplify, roots<Binary>(), passes::scale_layer_norm},
    {"bias_layer_norm", simplify, roots<Binary>(), passes::bias_layer_norm},
    {"recognise_group_norm", simplify, roots<Reshape>(), passes::recognise_group_norm},
    {"recognise_reduction", simplify, roots<Reduce, Unary>(), passes::recognise_reduction},
    {"recognise_vector_norm", simplify, roots<Binary>(), passes::recognise_vector_norm},
    {"recognise_softmax", simplify, roots<Binary>(), passes::recognise_softmax},
    {"drop_softmax_shift", simplify, roots<Softmax>(), passes::drop_softmax_shift},
    {"recognise_log_softmax", simplify, roots<Unary, Binary>(), passes::recognise_log_softmax},
    {"recognise_attention", simplify, roots<MatMul>(), passes::recognise_attention},
    {"attend_to_cache", simplify, roots<Attention>(), passes::attend_to_cache},
    // into weights and windows
    {"transposed_conv_to_conv", simplify, roots<ConvTranspose>(), passes::transposed_conv_to_conv},
    {"absorb_conv_pads", simplify, roots<Conv>(), passes::absorb_conv_pads},
    {"absorb_pool_pads", simplify, roots<Pool>(), passes::absorb_pool_pads},
    {"expand_batch_norm", simplify, roots<BatchNorm>(), passes::expand_batch_norm},
    {"fold_scale", simplify, roots<Binary>(), passes::fold_scale},
    {"fold_bias", simplify, roots<Binary>(), passes::fold_bias},
    {"scale_before_bias", simplify, roots<Binary>(), passes::scale_before_bias},
    {"fold_alpha", simplify, roots<Binary>(), passes::fold_alpha},
    {"fold_input_scale", simplify, roots<Conv, ConvTranspose, MatMul>(), passes::fold_input_scale},
    {"fold_input_shift", simplify, roots<Conv>(), passes::fold_input_shift},
    {"fold_into_group_norm", simplify, roots<Binary>(), passes::fold_into_group_norm},
    // what nobody reads
    {"slice_before", cut, roots<Slice>(), passes::slice_before},
    {"merge_common_slices", cut, {}, nullptr, passes::merge_common},
    // into post-ops
    {"fuse_unary", fuse, roots<Unary>(), passes::fuse_unary},
    {"fuse_binary", fuse, roots<Binary>(), passes::fuse_binary},
};

}  // namespace

Status run_passes(Graph& graph, const PassOptions& options) {
  return passes::rewrite(graph, table, options);
}

Status run_passes(Graph& graph) {
  return run_passes(graph, PassOptions{});
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& p : table) names.push_back(p.name);
  return names;
}

}  // namespace quern
