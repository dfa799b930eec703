// SPDX-License-Identifier: Apache-2.0
// Depthwise Conv in f32, channels last: each position is a sum of products of rows of x and rows of
// weights. For windows without a fast oneDNN kernel (long ones, wide dilations).
#include "kernels/cpu/conv_depthwise.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/rows.h"
#include "kernels/contract/window.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::int64_t max_taps = 256;

class DepthwiseRows final : public CpuKernel {
 public:
  // `packed`: weights as [taps][channels].
  DepthwiseRows(const Shape& x, const Shape& y, const ResolvedWindow& window,
                std::shared_ptr<const std::byte> packed)
      : in_(spatial_of(x)),
        out_(spatial_of(y)),
        images_(x[0]),
        channels_(x[1]),
        window_(window),
        packed_(std::move(packed)) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::int64_t positions = out_.elements();
    // Eight multiplications take a nanosecond, and a thread that sleeps ten thousands to wake.
    const std::int64_t work = channels_ * window_.kernel.elements() / 8;
    parallel(images_ * positions, row_grain(work), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) run_position(args, p / positions, p);
    });
    return {};
  }

 private:
  Shape position(std::int64_t p) const {
    Shape at = Shape::filled(out_.rank(), 0);
    for (std::size_t d = out_.rank(); d-- > 0; p /= out_[d]) at[d] = p % out_[d];
    return at;
  }

  void run_position(const KernelArgs& args, std::int64_t image, std::int64_t p) const {
    const auto* x =
        reinterpret_cast<const float*>(args.inputs[0]) + image * in_.elements() * channels_;
    const auto* w = reinterpret_cast<const float*>(packed_.get());
    const float* xs[max_taps];
    const float* ws[max_taps];
    std::int64_t n = 0;
    StopCheck check(args.stop);
    for_each_tap(window_, in_, position(p % out_.elements()), check,
                 [&](std::int64_t e, std::int64_t t) {
                   xs[n] = x + e * channels_;
                   ws[n++] = w + t * channels_;
                 });
    const bool has_bias = args.inputs.size() > 2 && args.inputs[2];
    simd().sum_products(xs, ws, n,
                        has_bias ? reinterpret_cast<const float*>(args.inputs[2]) : nullptr,
                        reinterpret_cast<float*>(args.outputs[0]) + p * channels_, channels_);
  }

  Shape in_, out_;
  std::int64_t images_, channels_;
  ResolvedWindow window_;
  std::shared_ptr<const std::byte> packed_;
};

}  // namespace

bool suits_conv_depthwise(const KernelRequest& r) {
  const Shape& w = r.shape(1);
  return r.dtype(0) == DType::f32 && r.inputs[1].constant && w[1] == 1 &&
         r.as<Conv>().group == w[0] && w[0] > 1 && w.elements(2) <= max_taps &&
         r.shape(0).elements() > 0 && r.outputs[0].shape.elements() > 0 && w.elements() > 0;
}

Selection select_conv_depthwise(const KernelRequest& r) {
  if (!suits_conv_depthwise(r)) return unsupported();
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(1);
  const std::int64_t taps = w.elements(2);
  const auto fill = [&](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor t, r.inputs[1].constant->get());
    for (std::int64_t c = 0; c < w[0]; ++c)
      for (std::int64_t k = 0; k < taps; ++k)
        std::memcpy(to + (k * w[0] + c) * 4, t.data() + (c * taps + k) * 4, 4);
    return {};
  };
  QUERN_ASSIGN(auto packed,
               r.target.weights->find_or_make(cat("depthwise|", r.inputs[1].constant->key()),
                                              static_cast<std::size_t>(w.elements()) * 4, fill));
  KernelChoice choice;
  choice.implementation = std::string("depthwise ") + simd().name;
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = Layout::channels_last(x);
  choice.output_layouts = {Layout::channels_last(r.outputs[0].shape)};
  choice.packed_inputs.resize(r.inputs.size());
  choice.packed_inputs[1] = true;
  choice.work = std::make_unique<DepthwiseRows>(
      x, r.outputs[0].shape, resolve_window(r.as<Conv>().window, spatial_of(x), spatial_of(w)),
      std::move(packed));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
