// SPDX-License-Identifier: Apache-2.0
// Depthwise Conv in f32, channels last: some neighbouring positions of a line have their sums in
// registers, and weights are read once for all of them.
#include "kernels/cpu/conv_depthwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/rows.h"
#include "kernels/contract/window.h"
#include "kernels/cpu/conv_tail.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::int64_t max_taps = 256;

// The spatial dimensions of a convolution without those that do nothing; lines are along the last.
struct DepthwiseSizes {
  Shape in, out;
  ResolvedWindow window;
};

DepthwiseSizes sizes_of(const Shape& x, const Shape& y, const ResolvedWindow& all) {
  DepthwiseSizes s;
  for (std::size_t d = 0; d < all.rank(); ++d) {
    const bool does_nothing =
        x[2 + d] == 1 && y[2 + d] == 1 && all.kernel[d] == 1 && all.pads_begin[d] == 0;
    if (does_nothing && all.rank() - d + s.in.rank() > 1) continue;
    s.in.push_back(x[2 + d]);
    s.out.push_back(y[2 + d]);
    s.window.kernel.push_back(all.kernel[d]);
    s.window.strides.push_back(all.strides[d]);
    s.window.dilations.push_back(all.dilations[d]);
    s.window.pads_begin.push_back(all.pads_begin[d]);
  }
  return s;
}

class DepthwiseRows final : public CpuKernel {
 public:
  // `packed`: weights as [taps][channels].
  DepthwiseRows(const DepthwiseSizes& sizes, std::int64_t images, std::int64_t channels,
                std::shared_ptr<const std::byte> packed, ConvTail tail)
      : s_(sizes),
        last_(sizes.in.rank() - 1),
        images_(images),
        channels_(channels),
        packed_(std::move(packed)),
        tail_(std::move(tail)) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    // Eight multiplications take a nanosecond, and a thread that sleeps ten thousands to wake.
    const std::int64_t work = channels_ * s_.window.kernel.elements() / 8;
    const std::int64_t width = s_.out[last_];
    parallel(images_ * s_.out.elements(), row_grain(work),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               while (begin < end && !check.is_over()) {
                 const std::int64_t line = begin / width, from = begin % width;
                 const std::int64_t count = std::min(end - begin, width - from);
                 run_line(args, line, from, from + count, check);
                 begin += count;
               }
             });
    return {};
  }

 private:
  // The lines of x and of the weights that are under the window at a line of the output.
  struct Lines {
    std::int64_t count = 0;
    std::array<const float*, max_taps> x, w;
  };

  Lines lines_under(const KernelArgs& args, std::int64_t line) const {
    const std::int64_t lines = s_.out.elements() / s_.out[last_];
    const std::int64_t image = line / lines;
    const auto* x =
        reinterpret_cast<const float*>(args.inputs[0]) + image * s_.in.elements() * channels_;
    const auto* w = reinterpret_cast<const float*>(packed_.get());
    std::int64_t rest = line % lines;
    Shape at = Shape::filled(last_, 0);
    for (std::size_t d = last_; d-- > 0; rest /= s_.out[d]) at[d] = rest % s_.out[d];
    Lines under;
    StopCheck no_limit(nullptr);  // there are 256 at most
    for_each_tap(s_.window, Shape(s_.in.dims().first(last_)), at, no_limit,
                 [&](std::int64_t element, std::int64_t tap) {
                   const auto i = static_cast<std::size_t>(under.count++);
                   under.x[i] = x + element * s_.in[last_] * channels_;
                   under.w[i] = w + tap * s_.window.kernel[last_] * channels_;
                 });
    return under;
  }

  // Positions [from, to) of a line.
  void run_line(const KernelArgs& args, std::int64_t line, std::int64_t from, std::int64_t to,
                StopCheck& check) const {
    const Lines under = lines_under(args, line);
    SimdDepthwise l{};
    l.x = under.x.data();
    l.weights = under.w.data();
    l.rows = under.count;
    l.taps = s_.window.kernel[last_];
    l.width = s_.in[last_];
    l.channels = channels_;
    l.stride = s_.window.strides[last_];
    l.dilation = s_.window.dilations[last_];
    if (tail_.has_bias) l.bias = reinterpret_cast<const float*>(args.inputs[2]);
    l.range = tail_.range;
    auto* y = reinterpret_cast<float*>(args.outputs[0]) + line * s_.out[last_] * channels_;
    const std::int64_t work = 1 + (1 + l.rows * l.taps) * channels_ / 8;
    const std::int64_t at_once = std::max<std::int64_t>(8, cut_size(1'000'000) / work);
    for (; from < to; from += at_once) {
      l.first = from * l.stride - s_.window.pads_begin[last_];
      l.positions = std::min(at_once, to - from);
      l.y = y + from * channels_;
      if (check.spend(l.positions * work)) return;
      simd().depthwise(l);
      apply_functions(tail_.functions, l.y, l.positions * channels_);
    }
  }

  DepthwiseSizes s_;
  std::size_t last_;
  std::int64_t images_, channels_;
  std::shared_ptr<const std::byte> packed_;
  ConvTail tail_;
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
  KernelChoice choice = own_conv_choice(r, "depthwise");
  ConvTail tail = take_functions(r, choice);
  choice.work = std::make_unique<DepthwiseRows>(
      sizes_of(x, r.outputs[0].shape,
               resolve_window(r.as<Conv>().window, spatial_of(x), spatial_of(w))),
      x[0], x[1], std::move(packed), std::move(tail));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
