// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/deform_conv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/ops/infer.h"
#include "graph/ops/windows.h"

namespace quern {
namespace {

Window window_of_col2im(const Col2Im& op) {
  return {{}, op.strides, op.pads, op.dilations};
}

// The sizes in input i, where they are known.
Result<std::optional<Ints>> sizes_operand(const InferContext& c, std::size_t i) {
  const Dims* dims = c.dims(i);
  if ((c.dtype(i) != DType::i64 && c.dtype(i) != DType::i32) || (dims && dims->size() != 1))
    return c.error(cat(c.describe(i), " must be a list of i64 or i32"));
  std::optional<Ints> sizes = c.ints(i);
  if (sizes) QUERN_TRY(check_list(c, cat("input ", i), *sizes, sizes->size(), 0));
  return sizes;
}

Status check_columns(const InferContext& c, const Dims& columns, const Ints& image,
                     const Ints& block) {
  QUERN_ASSIGN(const Dims counts, infer_window(c, window_of_col2im(c.op<Col2Im>()),
                                               to_dims(Shape(image)), to_dims(Shape(block))));
  if (!meet({columns[2]}, {product(counts)}))
    return c.error(cat(c.describe(0), " does not have one column for each of ",
                       product(counts).value(), " blocks"));
  const std::int64_t taps = product(to_dims(Shape(block))).value();
  if (columns[1].known() && columns[1].value() % taps != 0)
    return c.error(cat(c.describe(0), " does not have a multiple of ", taps, " rows"));
  return {};
}

Status infer_col2im(InferContext& c) {
  if (!is_number(c.dtype(0))) return c.error(cat(c.describe(0), " must be of numbers"));
  QUERN_ASSIGN(const std::optional<Ints> image, sizes_operand(c, 1));
  QUERN_ASSIGN(const std::optional<Ints> block, sizes_operand(c, 2));
  const Dims columns = c.dims(0) ? *c.dims(0) : Dims(3);
  if (columns.size() != 3) return c.error(cat(c.describe(0), " must have rank 3"));
  c.set(0, c.dtype(0), std::nullopt);
  if (!image && (!c.dims(1) || !(*c.dims(1))[0].known())) return {};
  const auto rank = static_cast<std::size_t>(image ? static_cast<std::int64_t>(image->size())
                                                   : (*c.dims(1))[0].value());
  if (rank < 1 || rank > max_spatial_rank)
    return c.error(cat(rank, " spatial dimensions, wants 1 to ", max_spatial_rank));
  Dims y(rank + 2);
  y[0] = columns[0];
  if (image) std::copy(image->begin(), image->end(), y.begin() + 2);
  if (image && block) QUERN_TRY(check_columns(c, columns, *image, *block));
  if (block) y[1] = div_exact(columns[1], product(to_dims(Shape(*block))).value());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

Status want_shape(const InferContext& c, std::size_t i, const Dims& wanted) {
  if (!c.dims(i) || meet(*c.dims(i), wanted)) return {};
  return c.error(cat(c.describe(i), " does not fit the input and the weights"));
}

Status check_groups(const InferContext& c, const DeformConv& op, const Dims& x, const Dims& w) {
  if (op.group < 1 || op.offset_group < 1)
    return c.error(cat("group is ", op.group, " and offset_group ", op.offset_group,
                       ", both want at least 1"));
  if (x[1].known() && w[1].known() && !x[1].same(w[1] * op.group))
    return c.error(cat("weight has ", w[1].value(), " input channels for each of ", op.group,
                       " groups, input has ", x[1].value()));
  if (w[0].known() && w[0].value() % op.group != 0)
    return c.error(cat(w[0].value(), " output channels do not fall into ", op.group, " groups"));
  if (x[1].known() && x[1].value() % op.offset_group != 0)
    return c.error(
        cat(x[1].value(), " input channels do not fall into ", op.offset_group, " offset groups"));
  return {};
}

Dims join(Dim batch, Dim channels, const Dims& spatial) {
  Dims d = {batch, channels};
  d.insert(d.end(), spatial.begin(), spatial.end());
  return d;
}

Status infer_deform_conv(InferContext& c) {
  const auto& op = c.op<DeformConv>();
  QUERN_TRY(want_floats(c, 0));
  for (std::size_t i = 1; i < c.input_count(); ++i) QUERN_TRY(c.want_same_dtype(0, i));
  c.set(0, c.dtype(0), std::nullopt);
  if (!c.dims(0) || !c.dims(1)) return {};
  const Dims& x = *c.dims(0);
  const Dims& w = *c.dims(1);
  if (x.size() < 3 || w.size() != x.size())
    return c.error(cat(c.describe(0), " and ", c.describe(1),
                       " must have one rank: batch, channels and at least one spatial dimension"));
  QUERN_TRY(check_groups(c, op, x, w));
  QUERN_ASSIGN(const Dims out,
               infer_window(c, op.window, std::span(x).subspan(2), std::span(w).subspan(2)));
  const Dim taps = product(std::span(w).subspan(2)) * op.offset_group;
  QUERN_TRY(want_shape(c, 2, join(x[0], taps * static_cast<std::int64_t>(out.size()), out)));
  QUERN_TRY(want_shape(c, 3, {w[0]}));
  QUERN_TRY(want_shape(c, 4, join(x[0], taps, out)));
  c.set(0, c.dtype(0), join(x[0], w[0], out));
  return {};
}

}  // namespace

const OpDef& Col2Im::def() {
  static constexpr OpDef def{.name = "Col2Im",
                             .inputs = {3, 3},
                             .outputs = {1, 1},
                             .plan_operands = 0b110,
                             .infer = infer_col2im,
                             .attributes = &op_struct<Col2Im>};
  return def;
}

const OpDef& DeformConv::def() {
  static constexpr OpDef def{.name = "DeformConv",
                             .inputs = {3, 5},
                             .outputs = {1, 1},
                             .traits = OpTrait::flushes_denormals,
                             .infer = infer_deform_conv,
                             .attributes = &op_struct<DeformConv>};
  return def;
}

}  // namespace quern
