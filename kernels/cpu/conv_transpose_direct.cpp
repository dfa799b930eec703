// SPDX-License-Identifier: Apache-2.0
// ConvTranspose in one and two dimensions without a library. Every row of the output starts with
// the bias, and the contribution of each tap of the window is added: with the channels innermost a
// matrix product (elements of an input row) x (their channels) x (channels of the output). With few
// output channels it is a product by all taps, whose results are added where they overlap, or,
// where taps are few as well, a sum of scaled rows. oneDNN's implementation, its backward
// convolution, takes ten times as long for the narrow layers at the end of a segmentation model.
#include "kernels/cpu/conv_transpose_direct.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

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

// ---- few output channels: products by all taps -------------------------------------------------

class ByTaps final : public Direct {
 public:
  // `weights`: one matrix of in_channels x [taps, out_channels] in panels.
  ByTaps(const ConvPlane& g, std::shared_ptr<const std::byte> weights, int threads)
      : Direct(g, std::move(weights)), columns_(columns_of(g)) {
    constexpr std::int64_t sums = 32'768;  // half of a second-level cache
    at_once_ = std::clamp<std::int64_t>(sums / columns_, 8, 48);
    // Parts of an image compute what reaches over their ends again.
    std::int64_t wanted = ceil_div(std::int64_t{threads}, g.batch);
    for (const std::size_t d : {0, 1}) {
      const std::int64_t reach = (g.kernel[d] - 1) * g.dilations[d] + 1;
      parts_[d] =
          std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, g.out[d] / (8 * reach)));
      wanted = ceil_div(wanted, parts_[d]);
    }
    tasks_ = std::min<std::int64_t>(threads, g.batch * parts_[0] * parts_[1]);
  }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(tasks_ * at_once_ * columns_) * sizeof(float);
  }
  static std::int64_t columns_of(const ConvPlane& g) { return g.taps() * g.out_channels; }
  static std::int64_t packed_floats(const ConvPlane& g) {
    return round_up(columns_of(g), simd_panel) * g.in_channels;
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::int64_t parts = parts_[0] * parts_[1], units = g_.batch * parts;
    parallel(tasks_, 1, [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t t = begin; t < end; ++t) {
        auto* sums = reinterpret_cast<float*>(args.scratch) + t * at_once_ * columns_;
        for (std::int64_t u = units * t / tasks_; u < units * (t + 1) / tasks_ && !check.is_over();
             ++u)
          add_part(args, part_of(args, u / parts, u % parts), sums, check);
      }
    });
    return {};
  }

 private:
  struct Span {
    std::int64_t begin, end;
  };
  // Some lines and columns of an image of the output.
  struct Part {
    const float* x;
    float* y;
    std::array<Span, 2> out;
  };

  Part part_of(const KernelArgs& args, std::int64_t image, std::int64_t part) const {
    const auto span = [&](std::size_t d, std::int64_t i) {
      return Span{g_.out[d] * i / parts_[d], g_.out[d] * (i + 1) / parts_[d]};
    };
    return {
        reinterpret_cast<const float*>(args.inputs[0]) +
            image * g_.in[0] * g_.in[1] * g_.in_channels,
        reinterpret_cast<float*>(args.outputs[0]) + image * g_.out[0] * g_.out[1] * g_.out_channels,
        {span(0, part / parts_[1]), span(1, part % parts_[1])}};
  }
  // The elements of dimension d of the input that reach into `out`.
  Span sources_of(std::size_t d, const Span& out) const {
    const std::int64_t reach = (g_.kernel[d] - 1) * g_.dilations[d];
    const std::int64_t first = divide_up(out.begin + g_.pads[d] - reach, g_.strides[d]);
    return {std::max<std::int64_t>(0, first),
            std::min(g_.in[d], (out.end - 1 + g_.pads[d]) / g_.strides[d] + 1)};
  }
  float* element(const Part& p, std::int64_t line, std::int64_t column) const {
    return p.y + (line * g_.out[1] + column) * g_.out_channels;
  }

  void start(const KernelArgs& args, const Part& p, StopCheck& check) const {
    const auto* bias =
        args.inputs.size() > 2 ? reinterpret_cast<const float*>(args.inputs[2]) : nullptr;
    const std::int64_t n = (p.out[1].end - p.out[1].begin) * g_.out_channels;
    for (std::int64_t line = p.out[0].begin; line < p.out[0].end && !check.spend(n / 4); ++line) {
      float* const y = element(p, line, p.out[1].begin);
      if (!bias) std::fill_n(y, n, 0.0f);
      for (std::int64_t i = 0; bias && i < n; i += g_.out_channels)
        std::copy_n(bias, g_.out_channels, y + i);
    }
  }

  void add_part(const KernelArgs& args, const Part& p, float* sums, StopCheck& check) const {
    start(args, p, check);
    const Span lines = sources_of(0, p.out[0]), columns = sources_of(1, p.out[1]);
    for (std::int64_t line = lines.begin; line < lines.end; ++line)
      for (std::int64_t i = columns.begin; i < columns.end && !check.is_over(); i += at_once_) {
        const std::int64_t n = std::min(at_once_, columns.end - i);
        multiply_until({.a = p.x + (line * g_.in[1] + i) * g_.in_channels,
                        .a_stride = g_.in_channels,
                        .b = weights(),
                        .b_stride = simd_panel,
                        .b_panel = simd_panel * g_.in_channels,
                        .c = sums,
                        .c_stride = columns_,
                        .rows = n,
                        .depth = g_.in_channels,
                        .columns = columns_},
                       check);
        for (std::int64_t r = 0; r < n && !check.spend(columns_ / 8); ++r)
          add_position(p, line, i + r, sums + r * columns_);
      }
  }

  // Adds the products of an element of the input by all taps to where these reach.
  void add_position(const Part& p, std::int64_t line, std::int64_t column,
                    const float* sums) const {
    const std::int64_t at = column * g_.strides[1] - g_.pads[1];
    const std::int64_t begin = std::max(at, p.out[1].begin);
    const std::int64_t end = std::min(at + g_.kernel[1], p.out[1].end);
    if (begin >= end) return;
    for (std::int64_t k = 0; k < g_.kernel[0]; ++k) {
      const std::int64_t to = line * g_.strides[0] - g_.pads[0] + k * g_.dilations[0];
      if (to < p.out[0].begin || to >= p.out[0].end) continue;
      const float* from = sums + (k * g_.kernel[1] + begin - at) * g_.out_channels;
      float* const y = element(p, to, begin);
      const std::int64_t n = (end - begin) * g_.out_channels;
      if (n >= 16) {
        simd().axpy(1, from, y, n);
      } else {
        for (std::int64_t j = 0; j < n; ++j) y[j] += from[j];
      }
    }
  }

  std::int64_t columns_, at_once_, tasks_;
  std::array<std::int64_t, 2> parts_;
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

// The form of the weights: unchanged, a row of taps at a time; in panels for the products of each
// tap; in panels of all taps.
enum class Variant : std::uint8_t { rows, products, taps };

std::string_view name_of(Variant v) {
  return v == Variant::rows ? "rows" : v == Variant::products ? "products" : "taps";
}

Variant variant_for(const ConvPlane& g) {
  // With fewer columns, panels would be mostly padding.
  constexpr std::int64_t fewest_outputs = 16, fewest_columns = 8;
  if (g.out_channels >= fewest_outputs) return Variant::products;
  const bool has_one_product = g.groups == 1 && g.dilations[1] == 1;
  return has_one_product && ByTaps::columns_of(g) >= fewest_columns ? Variant::taps : Variant::rows;
}

std::int64_t packed_floats(const KernelRequest& r, const ConvPlane& g, Variant variant) {
  if (variant == Variant::rows) return r.shape(1).elements();
  return variant == Variant::products ? g.packed_floats() : ByTaps::packed_floats(g);
}

Result<std::shared_ptr<const std::byte>> packed_weights(const KernelRequest& r, const ConvPlane& g,
                                                        Variant variant) {
  const ConstantSource& source = *r.inputs[1].constant;
  const auto fill = [&](std::byte* packed) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    if (variant == Variant::rows) {
      std::memcpy(packed, t.data(), t.bytes());
      return {};
    }
    // They are [groups * in, out, taps].
    const auto weight = [&](std::int64_t group, std::int64_t c, std::int64_t m, std::int64_t tap) {
      const std::int64_t from = (group * g.in_channels + c) * g.out_channels + m;
      float w;  // may be unaligned in a mapped file
      std::memcpy(&w, t.data() + (from * g.taps() + tap) * 4, sizeof w);
      return w;
    };
    auto* to = reinterpret_cast<float*>(packed);
    if (variant == Variant::products) {
      g.pack(to, weight);
      return {};
    }
    StopCheck check(r.target.stop);
    pack_panels(g.in_channels, ByTaps::columns_of(g), to, simd_panel * g.in_channels, check,
                [&](std::int64_t c, std::int64_t n) {
                  return weight(0, c, n % g.out_channels, n / g.out_channels);
                });
    return r.target.packed();
  };
  return r.target.weights->find_or_make(
      cat("conv transpose|", name_of(variant), "|", g.groups, "|", source.key()),
      static_cast<std::size_t>(packed_floats(r, g, variant)) * sizeof(float), fill);
}

}  // namespace

Selection select_conv_transpose_direct(const KernelRequest& r) {
  if (!suits_direct(r)) return unsupported();
  const ConvPlane g = transposed_geometry(r);
  const Variant variant = variant_for(g);
  QUERN_ASSIGN(auto weights, packed_weights(r, g, variant));
  KernelChoice choice;
  choice.implementation = cat(name_of(variant), " ", simd().name);
  choice.packed_inputs = {false, true, false};
  if (variant == Variant::rows) {
    choice.work = std::make_unique<ByRows>(g, std::move(weights));
    return std::optional<KernelChoice>(std::move(choice));
  }
  choice.input_layouts = {Layout::channels_last(r.shape(0))};
  choice.output_layouts = {Layout::channels_last(r.outputs[0].shape)};
  if (variant == Variant::products) {
    choice.work = std::make_unique<ByProducts>(g, std::move(weights));
  } else {
    auto kernel = std::make_unique<ByTaps>(g, std::move(weights), r.target.team.threads);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.work = std::move(kernel);
  }
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
