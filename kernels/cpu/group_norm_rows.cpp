// SPDX-License-Identifier: Apache-2.0
// GroupNorm and InstanceNorm in f32: the channels of a group lie side by side, so that a group is a
// row. Rows may have millions of elements: vectors sum a piece that stays in the cache, and the
// sums of the pieces are added in double.
#include "kernels/cpu/group_norm_rows.h"

#include <cmath>

#include "graph/ops/layer_norm.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

constexpr std::int64_t group_piece = 4096;

class GroupNormRows final : public CpuKernel {
 public:
  // x[rows][channels][inner]; row r has channels r % groups * channels and on of scale and shift.
  GroupNormRows(float epsilon, const Shape& x, std::int64_t groups)
      : epsilon_(epsilon),
        rows_(x[0] * groups),
        groups_(groups),
        channels_(x[1] / groups),
        inner_(x.elements(2)) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto at = [&](std::size_t i) { return reinterpret_cast<const float*>(args.inputs[i]); };
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t n = channels_ * inner_;
    parallel(rows_, row_grain(4 * n), [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t r = begin; r < end && !check.is_over(); ++r) {
        const std::int64_t first = r % groups_ * channels_;
        row(at(0) + r * n, at(1) + first, at(2) + first, y + r * n, check);
      }
    });
    return {};
  }

 private:
  void row(const float* x, const float* scale, const float* shift, float* y,
           StopCheck& check) const {
    const SimdSet& s = simd();
    const std::int64_t n = channels_ * inner_;
    double sum = 0;
    double squares = 0;
    for_pieces(n, check, [&](std::int64_t i, std::int64_t size) { sum += s.sum(x + i, size); });
    const auto mean = static_cast<float>(sum / static_cast<double>(n));
    for_pieces(n, check, [&](std::int64_t i, std::int64_t size) {
      squares += s.sum_square(x + i, mean, size);
    });
    const double variance = squares / static_cast<double>(n);
    const auto factor = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon_)));
    for (std::int64_t c = 0; c < channels_; ++c)
      for_pieces(inner_, check, [&](std::int64_t i, std::int64_t size) {
        float* to = y + c * inner_ + i;
        s.normalize(x + c * inner_ + i, mean, factor * scale[c], nullptr, nullptr, to, size);
        lines::add({to, false}, {shift + c, true}, to, size);
      });
  }
  template <class F>
  static void for_pieces(std::int64_t n, StopCheck& check, const F& f) {
    for (std::int64_t i = 0; i < n && !check.spend(std::min(group_piece, n - i)); i += group_piece)
      f(i, std::min(group_piece, n - i));
  }

  float epsilon_;
  std::int64_t rows_, groups_, channels_, inner_;
};

}  // namespace

Selection select_group_norm_rows(const KernelRequest& r) {
  const auto& op = r.as<GroupNorm>();
  const Shape& shape = r.shape(0);
  if (r.dtype(0) != DType::f32 || r.dtype(1) != DType::f32 || r.dtype(2) != DType::f32 ||
      shape.elements() == 0)
    return unsupported();
  const std::int64_t groups = op.groups ? op.groups : shape[1];
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts.resize(r.inputs.size());
  choice.sharing = {{0, 0, Alias::may}};
  choice.work = std::make_unique<GroupNormRows>(op.epsilon, shape, groups);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
