// SPDX-License-Identifier: Apache-2.0
// ConvTranspose whose stride equals its kernel, as in upsampling layers: taps do not overlap, so
// that it is the matrix product of the positions of x, channels last, with the weights as
// [channels, taps x outputs]; the columns of each position are then copied to their places.
#include "kernels/cpu/conv_transpose_rows.h"

#include <algorithm>
#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/cuts.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::int64_t positions_at_once = 48;

struct TransposedSizes {
  std::int64_t lines = 1;  // images x rows of x
  std::int64_t width = 1;  // positions per line
  std::int64_t channels = 1;
  std::int64_t tap_rows = 1;
  std::int64_t tap_columns = 1;
  std::int64_t outputs = 1;

  std::int64_t piece() const { return tap_columns * outputs; }  // contiguous in y
  // Columns of the packed weights, and those that are computed: a multiple of the vectors of any
  // instruction set.
  std::int64_t columns() const { return round_up(tap_rows * piece(), simd_panel); }
  std::int64_t used_columns() const { return round_up(tap_rows * piece(), 16); }
};

class ConvTransposeRows final : public CpuKernel {
 public:
  // `packed`: the weights in panels, then a row of bias.
  ConvTransposeRows(const TransposedSizes& s, std::shared_ptr<const std::byte> packed,
                    PostOps functions, int threads)
      : s_(s), packed_(std::move(packed)), functions_(std::move(functions)) {
    const std::int64_t work = s.lines * s.width * s.channels * s.used_columns();
    tasks_ = std::clamp<std::int64_t>(work / cut_size(1000000), 1,
                                      std::min<std::int64_t>(threads, s.lines));
  }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(tasks_ * task_floats()) * sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    parallel(tasks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t) {
        auto* scratch = reinterpret_cast<float*>(args.scratch) + t * task_floats();
        StopCheck check(args.stop);
        for (std::int64_t l = s_.lines * t / tasks_;
             l < s_.lines * (t + 1) / tasks_ && !check.is_over(); ++l)
          run_line(args, l, scratch, check);
      }
    });
    return {};
  }

 private:
  std::int64_t task_floats() const { return positions_at_once * s_.used_columns(); }

  void run_line(const KernelArgs& args, std::int64_t line, float* sums, StopCheck& check) const {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]) + line * s_.width * s_.channels;
    auto* y =
        reinterpret_cast<float*>(args.outputs[0]) + line * s_.tap_rows * s_.width * s_.piece();
    const auto* weights = reinterpret_cast<const float*>(packed_.get());
    const float* bias = weights + s_.columns() * s_.channels;
    const std::int64_t columns = s_.used_columns();
    for (std::int64_t p = 0; p < s_.width && !check.spend(columns); p += positions_at_once) {
      const std::int64_t n = std::min(positions_at_once, s_.width - p);
      for (std::int64_t i = 0; i < n; ++i) std::copy_n(bias, columns, sums + i * columns);
      multiply_until({x + p * s_.channels, s_.channels, weights, simd_panel,
                      simd_panel * s_.channels, sums, columns, n, s_.channels, columns, true},
                     check);
      for (std::int64_t r = 0; r < s_.tap_rows; ++r)
        write_pieces(sums + r * s_.piece(), n, y + (r * s_.width + p) * s_.piece());
    }
  }
  // The pieces of one row of taps of `n` positions, side by side, and what follows the convolution:
  // on them alone, since `sums` may have many columns that are not used.
  void write_pieces(const float* sums, std::int64_t n, float* y) const {
    const std::int64_t piece = s_.piece();
    for (std::int64_t i = 0; i < n; ++i, sums += s_.used_columns()) {
      float* to = y + i * piece;
      if (piece >= 16)
        std::copy_n(sums, piece, to);
      else
        for (std::int64_t k = 0; k < piece; ++k) to[k] = sums[k];
    }
    apply_functions(functions_, y, n * piece);
  }

  TransposedSizes s_;
  std::shared_ptr<const std::byte> packed_;
  PostOps functions_;  // of one number each
  std::int64_t tasks_;
};

bool is_non_overlapping(const KernelRequest& r) {
  const auto& op = r.as<ConvTranspose>();
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const ResolvedWindow w =
      resolve_transposed_window(op, x.dims().subspan(2), r.shape(1).dims().subspan(2));
  for (std::size_t d = 0; d < w.rank(); ++d)
    if (w.strides[d] != w.kernel[d] || w.dilations[d] != 1 || w.pads_begin[d] != 0 ||
        y[2 + d] != x[2 + d] * w.strides[d])
      return false;
  return true;
}

bool suits_rows(const KernelRequest& r) {
  const std::size_t rank = r.shape(0).rank();
  if (rank < 3 || rank > 4 || r.as<ConvTranspose>().group != 1) return false;
  if (r.dtype(0) != DType::f32 || !r.inputs[1].constant || r.shape(1).elements() == 0) return false;
  if (r.has(2) && !r.inputs[2].constant) return false;
  return r.outputs[0].shape.elements() > 0 && is_non_overlapping(r);
}

TransposedSizes transposed_sizes_of(const KernelRequest& r) {
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(1);
  const std::size_t last = x.rank() - 1;
  TransposedSizes s;
  s.lines = x[0] * (x.rank() == 4 ? x[2] : 1);
  s.width = x[last];
  s.channels = x[1];
  s.tap_rows = x.rank() == 4 ? w[2] : 1;
  s.tap_columns = w[last];
  s.outputs = w[1];
  return s;
}

// From [channels, outputs, taps] to panels of [channels][tap, output], then the bias of each
// column.
void pack(const TransposedSizes& s, const std::byte* w, const std::byte* bias, float* to) {
  const std::int64_t taps = s.tap_rows * s.tap_columns;
  const auto copy = [](float* p, const std::byte* from, std::int64_t i) {
    std::memcpy(p, from + i * static_cast<std::int64_t>(sizeof(float)), sizeof(float));
  };
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t m = 0; m < s.outputs; ++m) {
      const std::int64_t n = t * s.outputs + m;
      float* column = to + n / simd_panel * simd_panel * s.channels + n % simd_panel;
      for (std::int64_t c = 0; c < s.channels; ++c)
        copy(column + c * simd_panel, w, (c * s.outputs + m) * taps + t);
      if (bias) copy(to + s.columns() * s.channels + n, bias, m);
    }
}

}  // namespace

Selection select_conv_transpose_rows(const KernelRequest& r) {
  if (!suits_rows(r)) return unsupported();
  const TransposedSizes s = transposed_sizes_of(r);
  const auto fill = [&](std::byte* to) -> Status {
    QUERN_ASSIGN(const Tensor w, r.inputs[1].constant->get());
    Tensor bias;
    if (r.has(2)) {
      QUERN_ASSIGN(bias, r.inputs[2].constant->get());
    }
    pack(s, w.data(), bias.valid() ? bias.data() : nullptr, reinterpret_cast<float*>(to));
    return {};
  };
  const auto bytes = static_cast<std::size_t>(s.columns() * (s.channels + 1)) * sizeof(float);
  const std::string key = cat("conv transpose rows|", r.inputs[1].constant->key(), "|",
                              r.has(2) ? r.inputs[2].constant->key() : "");
  QUERN_ASSIGN(auto packed, r.target.weights->find_or_make(key, bytes, fill));
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = Layout::channels_last(r.shape(0));
  choice.output_layouts = {Layout::channels_last(r.outputs[0].shape)};
  choice.packed_inputs.resize(r.inputs.size());
  for (std::size_t i : {1, 2})
    if (r.has(i)) choice.packed_inputs[i] = true;
  choice.post_ops_taken = leading_functions(r.post_ops);
  PostOps functions = r.post_ops;
  functions.resize(choice.post_ops_taken);
  auto kernel = std::make_unique<ConvTransposeRows>(s, std::move(packed), std::move(functions),
                                                    r.target.team.threads);
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
