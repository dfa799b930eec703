// SPDX-License-Identifier: Apache-2.0
// AffineGrid: the positions theta * (x, y, ..., 1) of a regular grid of the given size from -1 to
// 1, for GridSample: (theta [N, r, r + 1], size [N, C, d1 .. dr]) -> [N, d1 .. dr, r].
//
// ONNX AffineGrid, opset 20; r is 2 or 3. -1 and 1 are the centres of the outermost elements with
// align_corners (a single one lies at 0), else their outer edges. Sums in double.
#include "graph/numeric.h"
#include "graph/ops/resampling.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/window.h"

namespace quern {
namespace {

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
  StopCheck check(call.stop);
  for (std::int64_t n = 0; n < ys[0]; ++n)
    for_each_index(size, 16, check, [&](const Shape& at) {
      const T* row = call.inputs[0].as<T>() + n * call.inputs[0].type.shape.elements(1);
      for (std::size_t i = 0; i < r; ++i, row += r + 1) {
        auto sum = static_cast<double>(row[r]);
        for (std::size_t j = 0; j < r; ++j)  // x first: the innermost dimension
          sum += static_cast<double>(row[j]) * coordinate(op, at[r - 1 - j], size[r - 1 - j]);
        *y++ = T(sum);
      }
    });
}

Status affine_grid_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  visit_float(call.inputs[0].type.dtype, [&]<class T>(TypeTag<T>) { make_grid<T>(call); });
  return {};
}

}  // namespace

const OpKernels& AffineGrid::kernels() {
  static constexpr OpKernels table{.reference = {affine_grid_reference}};
  return table;
}

}  // namespace quern
