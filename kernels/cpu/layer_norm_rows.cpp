// SPDX-License-Identifier: Apache-2.0
// LayerNorm and RMSNorm in f32 over contiguous rows.
#include "kernels/cpu/layer_norm_rows.h"

#include <cmath>

#include "graph/ops/layer_norm.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

class LayerNormRows final : public CpuKernel {
 public:
  LayerNormRows(const LayerNorm& op, std::int64_t rows, std::int64_t n)
      : op_(op), rows_(rows), n_(n) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto at = [&](std::size_t i) {
      return i < args.inputs.size() ? reinterpret_cast<const float*>(args.inputs[i]) : nullptr;
    };
    const float* x = at(0);
    const float* scale = at(1);
    const float* shift = at(2);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    parallel(rows_, row_grain(4 * n_), [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t r = begin; r < end && !check.is_over(); ++r)
        row(x + r * n_, scale, shift, y + r * n_, check);
    });
    return {};
  }

 private:
  void row(const float* x, const float* scale, const float* shift, float* y,
           StopCheck& check) const {
    const SimdSet& s = simd();
    const auto n = static_cast<float>(n_);
    float mean = 0;
    if (op_.center)
      mean = sum_of_pieces(n_, check, [&](auto i, auto count) { return s.sum(x + i, count); }) / n;
    const float squares = sum_of_pieces(
        n_, check, [&](auto i, auto count) { return s.sum_square(x + i, mean, count); });
    const float inverse = 1 / std::sqrt(squares / n + op_.epsilon);
    for_row_pieces(n_, check, [&](std::int64_t i, std::int64_t count) {
      s.normalize(x + i, mean, inverse, scale ? scale + i : nullptr, shift ? shift + i : nullptr,
                  y + i, count);
    });
  }

  LayerNorm op_;
  std::int64_t rows_;
  std::int64_t n_;
};

}  // namespace

Selection select_layer_norm_rows(const KernelRequest& r) {
  const auto& op = r.as<LayerNorm>();
  const Shape& shape = r.shape(0);
  if (r.dtype(0) != DType::f32 || shape.elements() == 0 || shape.empty()) return unsupported();
  if (r.wants(1) || r.wants(2)) return unsupported();
  const std::size_t axis = positive_axis(op.axis, shape.rank());
  const std::int64_t n = shape.elements(axis);
  for (std::size_t i = 1; i < r.inputs.size(); ++i)
    if (r.has(i) && (r.dtype(i) != DType::f32 || r.shape(i).elements() != n)) return unsupported();
  const bool one_axis = n == shape[axis];
  const Layout layout =
      one_axis ? layout_with_rows(r.inputs[0].desc, axis) : Layout::row_major(shape);
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = layout;
  choice.output_layouts = {layout};
  choice.sharing = {{0, 0, Alias::may}};
  choice.work = std::make_unique<LayerNormRows>(op, shape.elements() / n, n);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
