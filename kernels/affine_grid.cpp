// SPDX-License-Identifier: Apache-2.0
// AffineGrid: the positions theta * (x, y, ..., 1) of a regular grid of the given size from -1 to
// 1, for GridSample: (theta [N, r, r + 1], size [N, C, d1 .. dr]) -> [N, d1 .. dr, r].
//
// ONNX AffineGrid, opset 20; r is 2 or 3. -1 and 1 are the centres of the outermost elements with
// align_corners (a single one lies at 0), else their outer edges. Sums in double.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/window.h"

namespace quern {
namespace {

Result<std::optional<std::int64_t>> spatial_rank(const InferContext& c) {
  std::optional<std::int64_t> rank;
  if (const Dims* theta = c.dims(0)) {
    if (theta->size() != 3) return c.error(cat(c.describe(0), " must have rank 3"));
    if ((*theta)[1].known()) rank = (*theta)[1].value();
  }
  if (const Dims* size = c.dims(1)) {
    if (size->size() != 1) return c.error(cat(c.describe(1), " must have rank 1"));
    if (!rank && (*size)[0].known()) rank = (*size)[0].value() - 2;
  }
  if (rank && *rank != 2 && *rank != 3)
    return c.error(cat(*rank, " spatial dimensions, wants 2 or 3"));
  return rank;
}

Status infer(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_dtype(1, DType::i64));
  QUERN_ASSIGN(const std::optional<std::int64_t> rank, spatial_rank(c));
  c.set(0, c.dtype(0), std::nullopt);
  if (!rank) return {};
  const auto r = static_cast<std::size_t>(*rank);
  const Dims theta = c.dims(0) ? *c.dims(0) : Dims(3);
  if (!meet({theta[1], theta[2]}, {*rank, *rank + 1}) ||
      (c.dims(1) && !meet(*c.dims(1), {*rank + 2})))
    return c.error(cat(c.describe(0), " must be of ", r, " x ", r + 1, " matrices and ",
                       c.describe(1), " of ", r + 2, " sizes"));
  Dims y(r + 2);
  y[0] = theta[0];
  y[r + 1] = *rank;
  if (const auto size = c.ints(1)) {
    QUERN_TRY(check_list(c, "size", *size, r + 2, 0));
    if (size->empty() || !meet({theta[0]}, {size->front()}))
      return c.error(cat("size is for another number of images than ", c.describe(0)));
    y[0] = size->front();
    std::copy(size->begin() + 2, size->end(), y.begin() + 1);
  }
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- reference

double coordinate(const AffineGrid& op, std::int64_t i, std::int64_t n) {
  const auto length = static_cast<double>(op.align_corners ? n - 1 : n);
  return n == 1 ? 0 : static_cast<double>(2 * i + 1 - n) / length;
}

template <class T>
void make_grid(const ReferenceCall& call) {
  const Shape& ys = call.outputs[0].type.shape;
  const std::size_t r = ys.rank() - 2;
  const Shape size(ys.dims().subspan(1, r));
  const auto& op = call.as<AffineGrid>();
  T* y = call.outputs[0].as<T>();
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for_each_index(size, [&](const Shape& at) {
      const T* row = call.inputs[0].as<T>() + n * call.inputs[0].type.shape.elements(1);
      for (std::size_t i = 0; i < r; ++i, row += r + 1) {
        auto sum = static_cast<double>(row[r]);
        for (std::size_t j = 0; j < r; ++j)  // x first: the innermost dimension
          sum += static_cast<double>(row[j]) * coordinate(op, at[r - 1 - j], size[r - 1 - j]);
        *y++ = T(sum);
      }
    });
}

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { make_grid<T>(call); });
  return {};
}

}  // namespace

const OpDef& AffineGrid::def() {
  static constexpr OpDef def{.name = "AffineGrid",
                             .inputs = {2, 2},
                             .outputs = {1, 1},
                             .plan_operands = 0b10,
                             .infer = infer,
                             .reference = reference};
  return def;
}

}  // namespace quern
