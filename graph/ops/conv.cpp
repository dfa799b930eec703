// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/conv.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/products.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

// The dimensions of x and w; if one rank is unknown, the other gives it.
Status infer_dims_conv(const InferContext& c, Dims& x, Dims& w) {
  const std::size_t rank = c.dims(0) ? c.dims(0)->size() : c.dims(1)->size();
  x = c.dims(0) ? *c.dims(0) : Dims(rank);
  w = c.dims(1) ? *c.dims(1) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  return {};
}

Status check_channels_conv(const InferContext& c, const Dims& x, const Dims& w,
                           std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  if (x[1].known() && w[1].known() && !x[1].is((w[1] * group).value()))
    return c.error(cat("weight has ", w[1].value(), " input channels for each of ", group,
                       " groups, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " output channels do not fall into ", group, " groups"));
  const Dims* bias = c.dims(2);
  if (bias && (bias->size() != 1 || !meet(*bias, {w[0]})))
    return c.error(cat(c.describe(2), " must have one element for each output channel"));
  return {};
}

Status infer_conv(InferContext& c) {
  const auto& op = c.op<Conv>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  const DType type = op.f32_result ? DType::f32 : c.dtype(0);
  if (op.f32_result) QUERN_TRY(want_16bit_for_f32(c));
  if (c.has(2) && c.dtype(2) != type)
    return op.f32_result ? c.error(cat(c.describe(2), " must be of f32, as the result is"))
                         : c.want_same_dtype(0, 2);
  if (!c.dims(0) && !c.dims(1)) {
    c.set(0, type, std::nullopt);
    return {};
  }
  Dims x;
  Dims w;
  QUERN_TRY(infer_dims_conv(c, x, w));
  QUERN_TRY(check_channels_conv(c, x, w, op.group));
  QUERN_ASSIGN(const Dims spatial,
               infer_window(c, op.window, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[0]};
  y.insert(y.end(), spatial.begin(), spatial.end());
  c.set(0, type, std::move(y));
  return {};
}

Status check_channels_conv_transpose(const InferContext& c, const Dims& x, const Dims& w,
                                     std::int64_t group) {
  if (group < 1) return c.error(cat("group is ", group, ", wants at least 1"));
  if (x[1].known() && w[0].known() && !x[1].same(w[0]))
    return c.error(cat("weight has ", w[0].value(), " input channels, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % group != 0)
    return c.error(cat(w[0].value(), " input channels do not fall into ", group, " groups"));
  const Dims* bias = c.dims(2);
  if (bias && (bias->size() != 1 || !meet(*bias, {w[1] * group})))
    return c.error(cat(c.describe(2), " must have one element for each output channel"));
  return {};
}

// The spatial output; what the kernel decides is unknown while the weights' shape is.
Result<Dims> infer_spatial(const InferContext& c, const ConvTranspose& op, std::span<const Dim> in,
                           std::span<const Dim> kernel) {
  QUERN_TRY(infer_window(c, op.window, in, kernel).status());
  QUERN_TRY(check_list(c, "output_padding", op.output_padding, in.size(), 0));
  QUERN_TRY(check_list(c, "output_shape", op.output_shape, in.size(), 0));
  Shape sizes;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const std::int64_t attribute = op.window.kernel.empty() ? 0 : op.window.kernel[d];
    sizes.push_back(kernel[d].known() ? kernel[d].value() : attribute);
  }
  const ResolvedWindow w = resolve_window(op.window, Shape::filled(in.size(), 0), sizes);
  Dims out;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const bool by_kernel = op.output_shape.empty() && !is_same(op.window.auto_pad);
    out.push_back(by_kernel && sizes[d] == 0 ? Dim() : transposed_size(op, w, d, in[d]));
  }
  return out;
}

Status infer_conv_transpose(InferContext& c) {
  const auto& op = c.op<ConvTranspose>();
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 1));
  QUERN_TRY(c.want_same_dtype(0, 2));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0) && !c.dims(1)) return {};
  const std::size_t rank = c.dims(0) ? c.dims(0)->size() : c.dims(1)->size();
  const Dims x = c.dims(0) ? *c.dims(0) : Dims(rank);
  const Dims w = c.dims(1) ? *c.dims(1) : Dims(rank);
  if (rank < 3 || w.size() != rank)
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  QUERN_TRY(check_channels_conv_transpose(c, x, w, op.group));
  QUERN_ASSIGN(const Dims spatial,
               infer_spatial(c, op, std::span(x).subspan(2), std::span(w).subspan(2)));
  Dims y = {x[0], w[1] * op.group};
  y.insert(y.end(), spatial.begin(), spatial.end());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

}  // namespace

const OpDef& Conv::def() {
  static constexpr OpDef def{.name = "Conv",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops | OpTrait::flushes_denormals,
                             .infer = infer_conv,
                             .attributes = &op_struct<Conv>};
  return def;
}

const OpDef& ConvTranspose::def() {
  static constexpr OpDef def{.name = "ConvTranspose",
                             .inputs = {2, 3},
                             .outputs = {1, 1},
                             .traits = OpTrait::post_ops | OpTrait::flushes_denormals,
                             .infer = infer_conv_transpose,
                             .attributes = &op_struct<ConvTranspose>};
  return def;
}

}  // namespace quern
