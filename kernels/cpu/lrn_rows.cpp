// SPDX-License-Identifier: Apache-2.0
// Lrn in f32: the elements behind the channels are lanes, and the power of a base that is positive
// is exp(-beta log(base)), some hundred lanes at a time. The rounding of the exponent counts as
// often as the exponent is large: where it is, the power is computed in double.
#include "kernels/cpu/lrn_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/lp_norm.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

constexpr std::int64_t lrn_lanes = 512;
constexpr std::int64_t most_channels = 32;  // of a window

class LrnRows final : public CpuKernel {
 public:
  LrnRows(const Lrn& op, const Shape& x)
      : op_(op),
        images_(x[0]),
        channels_(x[1]),
        inner_(x.elements(2)),
        most_base_(std::exp(std::min(most_exponent / std::fabs(op.beta), largest_logarithm))) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t parts = ceil_div(inner_, lrn_lanes);
    const std::int64_t width = std::min(inner_, lrn_lanes);
    parallel(images_ * parts, row_grain(width * channels_ * 4),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t p = begin; p < end && !check.is_over(); ++p) {
                 const std::int64_t first = p % parts * lrn_lanes;
                 const std::int64_t at = p / parts * channels_ * inner_ + first;
                 lanes(x + at, std::min(lrn_lanes, inner_ - first), y + at, check);
               }
             });
    return {};
  }

 private:
  void lanes(const float* x, std::int64_t n, float* y, StopCheck& check) const {
    const SimdSet& s = simd();
    const float* lines[most_channels];
    float base[lrn_lanes];
    float root[lrn_lanes];
    const std::int64_t before = (op_.size - 1) / 2;
    for (std::int64_t c = 0; c < channels_ && !check.spend((op_.size + 16) * n); ++c) {
      const std::int64_t first = std::max<std::int64_t>(0, c - before);
      const std::int64_t last = std::min(channels_ - 1, c - before + op_.size - 1);
      for (std::int64_t k = first; k <= last; ++k) lines[k - first] = x + k * inner_;
      s.sum_products(lines, lines, last - first + 1, nullptr, base, n);
      const double factor = op_.alpha / static_cast<double>(op_.size);
      lines::affine(factor, op_.bias, base, base, n);
      const float* line = x + c * inner_;
      float* to = y + c * inner_;
      if (!(s.max(base, n) <= most_base_ && s.min(base, n) >= 1 / most_base_)) {
        exactly(line, lines, last - first + 1, n, to);
        continue;
      }
      lines::logarithm(base, root, n);
      lines::affine(-static_cast<double>(op_.beta), 0, root, root, n);
      lines::exponential(root, root, n);
      lines::multiply({line, false}, {root, false}, to, n);
    }
  }
  // In double, also where squares are beyond the largest float or no numbers.
  void exactly(const float* x, const float* const* lines, std::int64_t count, std::int64_t n,
               float* y) const {
    const double factor = op_.alpha / static_cast<double>(op_.size);
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < count; ++k) {
        const auto v = static_cast<double>(lines[k][i]);
        sum += v * v;
      }
      const double root = std::pow(op_.bias + factor * sum, static_cast<double>(op_.beta));
      y[i] = static_cast<float>(static_cast<double>(x[i]) / root);
    }
  }

  static constexpr float most_exponent = 3;
  static constexpr float largest_logarithm = 60;  // well below that of infinity

  Lrn op_;
  std::int64_t images_, channels_, inner_;
  float most_base_;
};

}  // namespace

Selection select_lrn_rows(const KernelRequest& r) {
  const auto& op = r.as<Lrn>();
  const Shape& x = r.shape(0);
  const bool is_positive = op.alpha >= 0 && op.bias > 0;
  if (r.dtype(0) != DType::f32 || x.rank() < 2 || x.elements() == 0 || !is_positive ||
      op.size < 1 || op.size > most_channels || std::isnan(op.beta))
    return unsupported();
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.work = std::make_unique<LrnRows>(op, x);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
