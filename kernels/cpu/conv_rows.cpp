// SPDX-License-Identifier: Apache-2.0
// Conv in one and two dimensions by the engine's own matrix product, channels last, for machines
// without oneDNN: a row of the output starts with the bias; for each tap of the window the product
// of the input row under it with the weights of the tap is added.
#include "kernels/cpu/conv_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/cuts.h"
#include "kernels/cpu/conv_plane.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

ConvPlane geometry(const KernelRequest& r) {
  const auto& op = r.as<Conv>();
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(1);
  ConvPlane g =
      ConvPlane::of(x, r.outputs[0].shape,
                    resolve_window(op.window, x.dims().subspan(2), w.dims().subspan(2)), op.group);
  g.in_channels = w[1];
  g.out_channels = w[0] / op.group;
  return g;
}

class ConvRows final : public CpuKernel {
 public:
  // `packed`: [group][tap], each a matrix of in_channels x out_channels in panels.
  ConvRows(const ConvPlane& g, std::shared_ptr<const std::byte> packed)
      : g_(g), packed_(std::move(packed)) {
    for (std::int64_t k = 0; k < g.kernel[1]; ++k) runs_.push_back(run_of(k));
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    const auto* bias =
        args.inputs.size() > 2 ? reinterpret_cast<const float*>(args.inputs[2]) : nullptr;
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t work = 2 * g_.out[1] * g_.all_out() * g_.in_channels * g_.taps();
    parallel(g_.batch * g_.out[0],
             std::max<std::int64_t>(1, cut_size(400'000) / std::max<std::int64_t>(work, 1)),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t r = begin; r < end && !check.is_over(); ++r)
                 row(x + r / g_.out[0] * g_.in[0] * g_.in[1] * g_.all_in(), bias, r % g_.out[0],
                     y + r * g_.out[1] * g_.all_out(), check);
             });
    return {};
  }

 private:
  // The output elements [begin, end) of a row whose tap lies inside the input, and the input of the
  // first one.
  struct Run {
    std::int64_t begin, end, in;
  };

  Run run_of(std::int64_t tap) const {
    const std::int64_t shift = tap * g_.dilations[1] - g_.pads[1];
    const auto first_at_least = [&](std::int64_t in) {
      const std::int64_t gap = in - shift;
      return gap > 0 ? (gap + g_.strides[1] - 1) / g_.strides[1] : std::int64_t{0};
    };
    const std::int64_t begin = first_at_least(0);
    const std::int64_t end = std::min(g_.out[1], first_at_least(g_.in[1]));
    return {begin, std::max(begin, end), begin * g_.strides[1] + shift};
  }

  void row(const float* x, const float* bias, std::int64_t out, float* y, StopCheck& check) const {
    const std::int64_t channels = g_.all_out();
    if (bias) {
      for (std::int64_t i = 0; i < g_.out[1]; ++i) std::copy_n(bias, channels, y + i * channels);
    } else {
      std::fill_n(y, g_.out[1] * channels, 0.0f);
    }
    for (std::int64_t k = 0; k < g_.kernel[0]; ++k) {
      const std::int64_t in = out * g_.strides[0] - g_.pads[0] + k * g_.dilations[0];
      if (in < 0 || in >= g_.in[0]) continue;
      for (std::int64_t tap = 0; tap < g_.kernel[1]; ++tap)
        add_tap(x + in * g_.in[1] * g_.all_in(), k * g_.kernel[1] + tap,
                runs_[static_cast<std::size_t>(tap)], y, check);
    }
  }

  void add_tap(const float* x, std::int64_t tap, const Run& run, float* y, StopCheck& check) const {
    if (run.begin == run.end) return;
    const auto* w = reinterpret_cast<const float*>(packed_.get());
    for (std::int64_t group = 0; group < g_.groups; ++group)
      multiply_until({.a = x + run.in * g_.all_in() + group * g_.in_channels,
                      .a_stride = g_.strides[1] * g_.all_in(),
                      .b = w + (group * g_.taps() + tap) * g_.matrix_floats(),
                      .b_stride = simd_panel,
                      .b_panel = simd_panel * g_.in_channels,
                      .c = y + run.begin * g_.all_out() + group * g_.out_channels,
                      .c_stride = g_.all_out(),
                      .rows = run.end - run.begin,
                      .depth = g_.in_channels,
                      .columns = g_.out_channels,
                      .accumulate = true},
                     check);
  }

  ConvPlane g_;
  std::vector<Run> runs_;  // by the tap's column
  std::shared_ptr<const std::byte> packed_;
};

Result<std::shared_ptr<const std::byte>> packed_weights(const KernelRequest& r,
                                                        const ConvPlane& g) {
  const ConstantSource& source = *r.inputs[1].constant;
  const auto fill = [&](std::byte* packed) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    // In a mapped file they may be unaligned.
    std::vector<float> w(static_cast<std::size_t>(t.shape().elements()));
    std::memcpy(w.data(), t.data(), t.bytes());
    // They are [groups * out, in, taps].
    g.pack(reinterpret_cast<float*>(packed),
           [&](std::int64_t group, std::int64_t c, std::int64_t m, std::int64_t t) {
             const std::int64_t filter = group * g.out_channels + m;
             return w[static_cast<std::size_t>((filter * g.in_channels + c) * g.taps() + t)];
           });
    return {};
  };
  const auto floats = static_cast<std::size_t>(g.packed_floats());
  return r.target.weights->find_or_make(cat("conv rows|", g.groups, "|", source.key()),
                                        floats * sizeof(float), fill);
}

}  // namespace

bool suits_conv_rows(const KernelRequest& r) {
  const std::size_t rank = r.shape(0).rank();
  return (rank == 3 || rank == 4) && r.dtype(0) == DType::f32 && r.inputs[1].constant &&
         r.shape(0).elements() > 0 && r.shape(1).elements() > 0 &&
         r.outputs[0].shape.elements() > 0;
}

Selection select_conv_rows(const KernelRequest& r) {
  if (!suits_conv_rows(r)) return unsupported();
  const ConvPlane g = geometry(r);
  QUERN_ASSIGN(auto packed, packed_weights(r, g));
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts = {Layout::channels_last(r.shape(0))};
  choice.output_layouts = {Layout::channels_last(r.outputs[0].shape)};
  choice.packed_inputs = {false, true, false};
  choice.work = std::make_unique<ConvRows>(g, std::move(packed));
  return std::optional<KernelChoice>(std::move(choice));
}

Selection select_conv_of_one_pixel(const KernelRequest& r) {
  constexpr std::int64_t few_channels = 256;
  const Shape& w = r.shape(1);
  const bool is_one_pixel = r.as<Conv>().group == 1 && w.elements(2) == 1 && w[1] < few_channels &&
                            r.outputs[0].shape.elements() == w[0];
  return is_one_pixel ? select_conv_rows(r) : unsupported();
}

}  // namespace quern
