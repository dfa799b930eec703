// SPDX-License-Identifier: Apache-2.0
// ConvTranspose in one and two dimensions without a library. Every row of the output starts with
// the bias, and the contribution of each tap of the window is added: with the channels innermost a
// matrix product (elements of an input row) x (their channels) x (channels of the output), with few
// output channels a sum of scaled rows. oneDNN's implementation, its backward convolution, takes
// ten times as long for the narrow layers at the end of a segmentation model.
#include "kernels/cpu/conv_transpose_direct.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/rows.h"
#include "kernels/cpu/conv_plane.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

ConvPlane transposed_geometry(const KernelRequest& r) {
  const auto& op = r.as<ConvTranspose>();
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(1);
  ConvPlane g = ConvPlane::of(
      x, r.outputs[0].shape,
      resolve_transposed_window(op, x.dims().subspan(2), w.dims().subspan(2)), op.group);
  g.in_channels = x[1] / op.group;
  g.out_channels = w[1];
  return g;
}

// The elements [begin, end) of an input row that a tap adds to the output row, from `out` on.
struct Run {
  std::int64_t tap, begin, end, out;
  std::int64_t size() const { return end - begin; }
};

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a > 0 ? ceil_div(a, b) : -(-a / b);
}

Run run_of(const ConvPlane& g, std::int64_t tap) {
  const std::int64_t shift = tap * g.dilations[1] - g.pads[1];
  const std::int64_t begin = std::max<std::int64_t>(0, divide_up(-shift, g.strides[1]));
  const std::int64_t end = std::min(g.in[1], divide_up(g.out[1] - shift, g.strides[1]));
  return {tap, begin, std::max(begin, end), begin * g.strides[1] + shift};
}

// Calls f(input row, kernel row) for each pair that contributes to row `out` of the output.
template <class F>
void for_each_source(const ConvPlane& g, std::int64_t out, const F& f) {
  for (std::int64_t k = 0; k < g.kernel[0]; ++k) {
    const std::int64_t at = out + g.pads[0] - k * g.dilations[0];
    if (at >= 0 && at % g.strides[0] == 0 && at / g.strides[0] < g.in[0]) f(at / g.strides[0], k);
  }
}

class Direct : public CpuKernel {
 public:
  Direct(const ConvPlane& g, std::shared_ptr<const std::byte> weights)
      : g_(g), weights_(std::move(weights)) {}

 protected:
  const float* weights() const { return reinterpret_cast<const float*>(weights_.get()); }
  std::int64_t grain(std::int64_t row_flops) const {
    const std::int64_t flops_per_thread = cut_size(400'000);
    return std::max<std::int64_t>(1, flops_per_thread / std::max<std::int64_t>(1, row_flops));
  }

  ConvPlane g_;

 private:
  std::shared_ptr<const std::byte> weights_;
};

// ---- channels innermost: matrix products -------------------------------------------------------

class ByProducts final : public Direct {
 public:
  using Direct::Direct;

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    const auto* bias =
        args.inputs.size() > 2 ? reinterpret_cast<const float*>(args.inputs[2]) : nullptr;
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t flops = 2 * g_.in[1] * g_.all_in() * g_.out_channels * g_.taps();
    parallel(g_.batch * g_.out[0], grain(flops / g_.strides[0]),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t r = begin; r < end && !check.is_over(); ++r)
                 row(x + r / g_.out[0] * g_.in[0] * g_.in[1] * g_.all_in(), bias, r % g_.out[0],
                     y + r * g_.out[1] * g_.all_out(), check);
             });
    return {};
  }

 private:
  void row(const float* x, const float* bias, std::int64_t out, float* y, StopCheck& check) const {
    const std::int64_t channels = g_.all_out();
    if (bias) {
      for (std::int64_t i = 0; i < g_.out[1]; ++i) std::copy_n(bias, channels, y + i * channels);
    } else {
      std::fill_n(y, g_.out[1] * channels, 0.0f);
    }
    for_each_source(g_, out, [&](std::int64_t in, std::int64_t k) {
      for (std::int64_t tap = 0; tap < g_.kernel[1]; ++tap)
        add_tap(x + in * g_.in[1] * g_.all_in(), k * g_.kernel[1] + tap, run_of(g_, tap), y, check);
    });
  }

  void add_tap(const float* x, std::int64_t tap, const Run& run, float* y, StopCheck& check) const {
    if (run.size() == 0) return;
    for (std::int64_t group = 0; group < g_.groups; ++group)
      multiply_until({.a = x + run.begin * g_.all_in() + group * g_.in_channels,
                      .a_stride = g_.all_in(),
                      .b = weights() + (group * g_.taps() + tap) * g_.matrix_floats(),
                      .b_stride = simd_panel,
                      .b_panel = simd_panel * g_.in_channels,
                      .c = y + run.out * g_.all_out() + group * g_.out_channels,
                      .c_stride = g_.strides[1] * g_.all_out(),
                      .rows = run.size(),
                      .depth = g_.in_channels,
                      .columns = g_.out_channels,
                      .accumulate = true},
                     check);
  }
};

// ---- row-major: scaled rows --------------------------------------------------------------------

class ByRows final : public Direct {
 public:
  using Direct::Direct;

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    const auto* bias =
        args.inputs.size() > 2 ? reinterpret_cast<const float*>(args.inputs[2]) : nullptr;
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t flops = 2 * g_.in[1] * g_.in_channels * g_.taps();
    parallel(g_.batch * g_.all_out() * g_.out[0], grain(flops / g_.strides[0]),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t r = begin; r < end && !check.is_over(); ++r) {
                 const std::int64_t image = r / g_.out[0] / g_.all_out();
                 const std::int64_t channel = r / g_.out[0] % g_.all_out();
                 row(x + image * g_.all_in() * g_.in[0] * g_.in[1], channel,
                     bias ? bias[channel] : 0.0f, r % g_.out[0], y + r * g_.out[1], check);
               }
             });
    return {};
  }

 private:
  static constexpr std::int64_t chunk = 512;

  void row(const float* x, std::int64_t channel, float bias, std::int64_t out, float* y,
           StopCheck& check) const {
    std::fill_n(y, g_.out[1], bias);
    for (std::int64_t tap = 0; tap < g_.kernel[1]; ++tap) {
      const Run all = run_of(g_, tap);
      for (std::int64_t at = all.begin; at < all.end; at += chunk) {
        const Run run{tap, at, std::min(at + chunk, all.end),
                      all.out + (at - all.begin) * g_.strides[1]};
        add_tap(x, channel, out, run, y, check);
      }
    }
  }

  void add_tap(const float* x, std::int64_t channel, std::int64_t out, const Run& run, float* y,
               StopCheck& check) const {
    float sums[chunk];
    std::fill_n(sums, run.size(), 0.0f);
    const std::int64_t first = channel / g_.out_channels * g_.in_channels;
    for_each_source(g_, out, [&](std::int64_t in, std::int64_t k) {
      for (std::int64_t c = first; c < first + g_.in_channels && !check.spend(8 + run.size() / 8);
           ++c) {
        const std::int64_t w = (c * g_.out_channels + channel % g_.out_channels) * g_.taps();
        simd().axpy(weights()[w + k * g_.kernel[1] + run.tap],
                    x + (c * g_.in[0] + in) * g_.in[1] + run.begin, sums, run.size());
      }
    });
    for (std::int64_t i = 0; i < run.size(); ++i) y[run.out + i * g_.strides[1]] += sums[i];
  }
};

// ---- choosing ----------------------------------------------------------------------------------

bool suits_direct(const KernelRequest& r) {
  const std::size_t rank = r.shape(0).rank();
  return (rank == 3 || rank == 4) && r.dtype(0) == DType::f32 && r.inputs[1].constant &&
         r.shape(0).elements() > 0 && r.shape(1).elements() > 0 &&
         r.outputs[0].shape.elements() > 0;
}

// The form of the weights: unchanged, a row of taps at a time, or in panels for matrix products.
enum class Variant : std::uint8_t { rows, products };

Result<std::shared_ptr<const std::byte>> packed_weights(const KernelRequest& r, const ConvPlane& g,
                                                        Variant variant) {
  const bool by_products = variant == Variant::products;
  const std::size_t size =
      static_cast<std::size_t>(by_products ? g.packed_floats() : r.shape(1).elements());
  const ConstantSource& source = *r.inputs[1].constant;
  const auto fill = [&](std::byte* packed) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    if (!by_products) {
      std::memcpy(packed, t.data(), t.bytes());
      return {};
    }
    // In a mapped file they may be unaligned.
    std::vector<float> w(static_cast<std::size_t>(t.shape().elements()));
    std::memcpy(w.data(), t.data(), t.bytes());
    // They are [groups * in, out, taps].
    g.pack(reinterpret_cast<float*>(packed),
           [&](std::int64_t group, std::int64_t c, std::int64_t m, std::int64_t t) {
             const std::int64_t from = (group * g.in_channels + c) * g.out_channels + m;
             return w[static_cast<std::size_t>(from * g.taps() + t)];
           });
    return {};
  };
  const std::string name = by_products ? cat("products|", g.groups) : std::string("rows");
  return r.target.weights->find_or_make(cat("conv transpose|", name, "|", source.key()),
                                        size * sizeof(float), fill);
}

}  // namespace

Selection select_conv_transpose_direct(const KernelRequest& r) {
  if (!suits_direct(r)) return unsupported();
  const ConvPlane g = transposed_geometry(r);
  // With fewer channels, panels would be mostly padding.
  const bool by_products = g.out_channels >= 8;
  QUERN_ASSIGN(auto weights, packed_weights(r, g, by_products ? Variant::products : Variant::rows));
  KernelChoice choice;
  choice.implementation = cat(by_products ? "products " : "rows ", simd().name);
  choice.packed_inputs = {false, true, false};
  if (by_products) {
    choice.input_layouts = {Layout::channels_last(r.shape(0))};
    choice.output_layouts = {Layout::channels_last(r.outputs[0].shape)};
    choice.work = std::make_unique<ByProducts>(g, std::move(weights));
  } else {
    choice.work = std::make_unique<ByRows>(g, std::move(weights));
  }
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
