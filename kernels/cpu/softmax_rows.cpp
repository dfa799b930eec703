// SPDX-License-Identifier: Apache-2.0
// Softmax and log_softmax in f32 over contiguous rows.
#include "kernels/cpu/softmax_rows.h"

#include <cmath>

#include "graph/ops/softmax.h"
#include "kernels/contract/rows.h"
#include "kernels/contract/scalar_math.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

class SoftmaxRows final : public CpuKernel {
 public:
  SoftmaxRows(SoftmaxKind kind, std::int64_t rows, std::int64_t n)
      : kind_(kind), rows_(rows), n_(n) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    parallel(rows_, row_grain(n_), [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t r = begin; r < end && !check.is_over(); ++r)
        row(x + r * n_, y + r * n_, check);
    });
    return {};
  }

 private:
  void row(const float* x, float* y, StopCheck& check) const {
    const SimdSet& s = simd();
    float largest = -std::numeric_limits<float>::infinity();
    for_row_pieces(n_, check, [&](std::int64_t i, std::int64_t n) {
      largest = nan_max(largest, s.max(x + i, n));
    });
    if (kind_ == SoftmaxKind::softmax) {
      const float scale = 1 / sum_of_pieces(n_, check, [&](std::int64_t i, std::int64_t n) {
                            return s.exp_sum(x + i, largest, y + i, n);
                          });
      for_row_pieces(n_, check, [&](std::int64_t i, std::int64_t n) {
        lines::multiply({y + i, false}, {&scale, true}, y + i, n);
      });
      return;
    }
    float sum = 0;
    float part[256];
    for (std::int64_t i = 0; i < n_ && !check.spend(256); i += 256)
      sum += s.exp_sum(x + i, largest, part, std::min<std::int64_t>(256, n_ - i));
    // Subtracted one after the other: with a large x, the sum of both would lose the digits of the
    // logarithm.
    const float log_sum = std::log(sum);
    for_row_pieces(n_, check, [&](std::int64_t i, std::int64_t n) {
      lines::subtract({x + i, false}, {&largest, true}, y + i, n);
      lines::subtract({y + i, false}, {&log_sum, true}, y + i, n);
    });
  }

  SoftmaxKind kind_;
  std::int64_t rows_;
  std::int64_t n_;
};

}  // namespace

Selection select_softmax_rows(const KernelRequest& r) {
  const auto& op = r.as<Softmax>();
  const Shape& shape = r.shape(0);
  if (r.dtype(0) != DType::f32 || op.kind == SoftmaxKind::hardmax || shape.elements() == 0 ||
      shape.empty())
    return unsupported();
  const std::size_t axis = positive_axis(op.axis, shape.rank());
  const Layout layout =
      op.flatten ? Layout::row_major(shape) : layout_with_rows(r.inputs[0].desc, axis);
  const std::int64_t n = op.flatten ? shape.elements(axis) : shape[axis];
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts = {layout};
  choice.output_layouts = {layout};
  choice.sharing = {{0, 0, Alias::may}};
  choice.work = std::make_unique<SoftmaxRows>(op.kind, shape.elements() / n, n);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
