// SPDX-License-Identifier: Apache-2.0
// Conv in one and two dimensions by the engine's own matrix product, channels last. Positions in a
// line under whose windows the same taps lie inside the input are the rows of a product; its depth
// is the window, of which pieces that lie side by side in memory are one. Sums stay in registers
// over the whole window, nothing is copied, and edges have products of their own.
#include "kernels/cpu/conv_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/stretches.h"
#include "kernels/cpu/conv_plane.h"
#include "kernels/cpu/conv_tail.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

// What stays in the second-level cache beside other things: weights that are read again and again,
// and lines of the output until functions were applied to them.
constexpr std::int64_t cached_weights = std::int64_t{512} * 1024 / 4;
constexpr std::int64_t cached_outputs = std::int64_t{128} * 1024 / 4;

bool is_pointwise(const ConvPlane& g) {
  return g.taps() == 1 && g.strides == std::array<std::int64_t, 2>{1, 1} &&
         g.pads == std::array<std::int64_t, 2>{0, 0} && g.in == g.out;
}

ConvPlane geometry(const KernelRequest& r) {
  const auto& op = r.as<Conv>();
  const Shape& x = r.shape(0);
  const Shape& w = r.shape(1);
  ConvPlane g =
      ConvPlane::of(x, r.outputs[0].shape,
                    resolve_window(op.window, x.dims().subspan(2), w.dims().subspan(2)), op.group);
  g.in_channels = w[1];
  g.out_channels = w[0] / op.group;
  if (is_pointwise(g)) {
    g.in = g.out = {g.batch * g.in[0] * g.in[1], 1};
    g.batch = 1;
  } else if (g.in[0] == 1 && g.out[0] == 1 && g.kernel[0] == 1 && g.pads[0] == 0) {
    // Threads take lines: those of a signal have one position each.
    for (auto* sizes : {&g.in, &g.out, &g.kernel, &g.strides, &g.dilations, &g.pads})
      std::swap((*sizes)[0], (*sizes)[1]);
  }
  return g;
}

// Of the height (0) or the width (1).
std::vector<Stretch> stretches_along(const ConvPlane& g, std::size_t d) {
  const ResolvedWindow window{{g.kernel[d]}, {g.strides[d]}, {g.dilations[d]}, {g.pads[d]}};
  return stretches_of(window, 0, g.in[d], g.out[d]);
}

// Taps that lie side by side in x.
std::int64_t joined_taps(const ConvPlane& g) {
  if (g.groups > 1) return 1;
  if (g.in[1] == 1 && g.kernel[1] == 1) return g.dilations[0] == 1 ? g.kernel[0] : 1;
  return g.dilations[1] == 1 ? g.kernel[1] : 1;
}

// Output channels that would fill a part of a vector are sums of products along the depth.
bool are_few_outputs(const ConvPlane& g) {
  const std::int64_t joined = joined_taps(g);
  return g.groups == 1 && simd().is_few(g.out_channels, joined * g.in_channels, g.taps() / joined);
}

// Columns [column, column + columns) of a group.
struct ColumnRange {
  std::int64_t group, column, columns;
};

class ConvRows final : public CpuKernel {
 public:
  // `packed`: for each group a matrix of [taps, in_channels] x out_channels in panels.
  ConvRows(const ConvPlane& g, std::shared_ptr<const std::byte> packed, ConvTail tail)
      : g_(g),
        packed_(std::move(packed)),
        tail_(std::move(tail)),
        down_(stretches_along(g, 0)),
        across_(stretches_along(g, 1)) {
    const std::int64_t depth = g.taps() * g.in_channels;
    has_large_weights_ = g.packed_floats() > cached_weights;
    const std::int64_t most =
        has_large_weights_
            ? std::max<std::int64_t>(1, cached_weights / (depth * simd_panel)) * simd_panel
            : g.out_channels;
    for (std::int64_t group = 0; group < g.groups; ++group)
      for (std::int64_t n = 0; n < g.out_channels; n += most)
        ranges_.push_back({group, n, std::min(most, g.out_channels - n)});
    has_few_outputs_ = are_few_outputs(g);
    lines_at_once_ = std::max<std::int64_t>(1, cached_outputs / (g.out[1] * g.all_out()));
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::int64_t lines = g_.batch * g_.out[0], cuts = column_cuts(lines, parallel.threads());
    const std::int64_t line_work = 2 * g_.out[1] * g_.all_out() * g_.in_channels * g_.taps();
    const auto grain = [](std::int64_t work) {
      return std::max<std::int64_t>(1, cut_size(400'000) / std::max<std::int64_t>(work, 1));
    };
    if (cuts > 1) {
      parallel(cuts, grain(line_work * lines / cuts), [&](std::int64_t begin, std::int64_t end) {
        StopCheck check(args.stop);
        const std::int64_t columns = round_up(ceil_div(g_.out_channels, cuts), simd_panel);
        for (std::int64_t n = begin * columns; n < std::min(end * columns, g_.out_channels);
             n += columns)
          columns_of_all(args, {0, n, std::min(columns, g_.out_channels - n)}, check);
      });
      return {};
    }
    parallel(lines, std::max(least_lines(), grain(line_work)),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               while (begin < end && !check.is_over()) {
                 const std::int64_t image = begin / g_.out[0], line = begin % g_.out[0];
                 const std::int64_t count = std::min(end - begin, g_.out[0] - line);
                 image_lines(args, image, line, line + count, check);
                 begin += count;
               }
             });
    return {};
  }

 private:
  struct Lines {
    std::int64_t image, begin, end;
  };

  // Lines that fill some tiles of products.
  std::int64_t least_lines() const {
    constexpr std::int64_t positions = 24;
    return cuts_are_small() ? 1 : ceil_div(positions, g_.out[1]);
  }

  // Columns are cut where threads would have few lines each, for which all of them read all
  // weights.
  std::int64_t column_cuts(std::int64_t lines, int threads) const {
    const std::int64_t panels = ceil_div(g_.out_channels, simd_panel);
    const std::int64_t parts = std::int64_t{2} * threads;
    if (threads == 1 || g_.groups > 1 || panels < threads || lines >= parts * least_lines())
      return 1;
    return std::min(panels, parts);
  }

  // f(lines) for the lines [begin, end) of an image, as many at a time as a cache holds.
  template <class F>
  void in_blocks(std::int64_t image, std::int64_t begin, std::int64_t end, StopCheck& check,
                 const F& f) const {
    for (std::int64_t l = begin; l < end && !check.is_over(); l += lines_at_once_)
      f(Lines{image, l, std::min(end, l + lines_at_once_)});
  }

  void columns_of_all(const KernelArgs& args, const ColumnRange& range, StopCheck& check) const {
    for (std::int64_t image = 0; image < g_.batch; ++image)
      in_blocks(image, 0, g_.out[0], check,
                [&](const Lines& lines) { add_columns(args, lines, range, check); });
  }

  void add_columns(const KernelArgs& args, const Lines& lines, const ColumnRange& range,
                   StopCheck& check) const {
    const std::int64_t channel = range.group * g_.out_channels + range.column;
    start(args, lines, channel, range.columns);
    add_products(args, lines, range, check);
    finish(args, lines, channel, range.columns);
  }

  // Weights that no cache holds are read once for all lines, else lines are written once.
  void image_lines(const KernelArgs& args, std::int64_t image, std::int64_t begin, std::int64_t end,
                   StopCheck& check) const {
    if (has_large_weights_) {
      for (const ColumnRange& range : ranges_)
        in_blocks(image, begin, end, check,
                  [&](const Lines& lines) { add_columns(args, lines, range, check); });
    } else {
      in_blocks(image, begin, end, check, [&](const Lines& lines) {
        start(args, lines, 0, g_.all_out());
        for (const ColumnRange& range : ranges_) add_products(args, lines, range, check);
        finish(args, lines, 0, g_.all_out());
      });
    }
  }

  float* output(const KernelArgs& args, std::int64_t image, std::int64_t line) const {
    return reinterpret_cast<float*>(args.outputs[0]) +
           (image * g_.out[0] + line) * g_.out[1] * g_.all_out();
  }

  // Calls f(offset, n) for the runs of those channels in some lines of the output.
  template <class F>
  void for_each_run(const Lines& lines, std::int64_t channel, std::int64_t channels,
                    const F& f) const {
    const std::int64_t positions = (lines.end - lines.begin) * g_.out[1];
    if (channels == g_.all_out()) return f(0, positions * channels);
    for (std::int64_t p = 0; p < positions; ++p) f(p * g_.all_out() + channel, channels);
  }

  void start(const KernelArgs& args, const Lines& lines, std::int64_t channel,
             std::int64_t channels) const {
    if (!tail_.residual) return;
    float* y = output(args, lines.image, lines.begin);
    const float* from =
        reinterpret_cast<const float*>(args.inputs[*tail_.residual]) + (y - output(args, 0, 0));
    if (from == y) return;
    for_each_run(lines, channel, channels,
                 [&](std::int64_t at, std::int64_t n) { std::copy_n(from + at, n, y + at); });
  }

  void finish(const KernelArgs& args, const Lines& lines, std::int64_t channel,
              std::int64_t channels) const {
    if (tail_.functions.empty()) return;
    float* y = output(args, lines.image, lines.begin);
    for_each_run(lines, channel, channels, [&](std::int64_t at, std::int64_t n) {
      apply_functions(tail_.functions, y + at, n);
    });
  }

  void add_products(const KernelArgs& args, const Lines& lines, const ColumnRange& range,
                    StopCheck& check) const {
    for (const Stretch& rows : down_) {
      const Stretch down = rows.within(lines.begin, lines.end, g_.strides[0]);
      if (down.size() == 0) continue;
      for (const Stretch& across : across_)
        add_rectangle(args, lines.image, down, across, range, check);
    }
  }

  // Lines of positions are taken in the direction in which they fill tiles.
  void add_rectangle(const KernelArgs& args, std::int64_t image, const Stretch& down,
                     const Stretch& across, const ColumnRange& range, StopCheck& check) const {
    constexpr std::int64_t filled = 6;
    SimdProduct p = product(args, image, down, across, range);
    const std::int64_t a_down = g_.strides[0] * g_.in[1] * g_.all_in();
    const std::int64_t a_across = g_.strides[1] * g_.all_in();
    const std::int64_t c_down = g_.out[1] * g_.all_out(), c_across = g_.all_out();
    const bool is_wide = across.size() >= std::min(filled, down.size());
    p.rows = is_wide ? across.size() : down.size();
    p.a_stride = is_wide ? a_across : a_down;
    p.c_stride = is_wide ? c_across : c_down;
    const std::int64_t products = is_wide ? down.size() : across.size();
    for (std::int64_t i = 0; i < products && !check.is_over(); ++i) {
      multiply_until(p, check, has_few_outputs_ ? simd().multiply_few : simd().multiply);
      p.a += is_wide ? a_down : a_across;
      p.c += is_wide ? c_down : c_across;
    }
  }

  // The product for the first position; without its rows.
  SimdProduct product(const KernelArgs& args, std::int64_t image, const Stretch& down,
                      const Stretch& across, const ColumnRange& range) const {
    const std::int64_t line = g_.in[1] * g_.all_in();
    SimdProduct p{};
    p.b_stride = has_few_outputs_ ? 1 : simd_panel;
    const std::int64_t b_tap = g_.in_channels * p.b_stride;
    const std::int64_t panel = g_.taps() * b_tap;
    p.a = reinterpret_cast<const float*>(args.inputs[0]) + (image * g_.in[0] + down.in) * line +
          across.in * g_.all_in() + range.group * g_.in_channels;
    p.b = reinterpret_cast<const float*>(packed_.get()) +
          range.group * g_.taps() * g_.matrix_floats() + range.column / simd_panel * panel +
          (down.tap * g_.kernel[1] + across.tap) * b_tap;
    p.b_panel = panel;
    const std::int64_t channel = range.group * g_.out_channels + range.column;
    p.c = output(args, image, down.begin) + across.begin * g_.all_out() + channel;
    p.columns = range.columns;
    p.accumulate = tail_.residual.has_value();
    p.range = tail_.range;
    if (tail_.has_bias) p.bias = reinterpret_cast<const float*>(args.inputs[2]) + channel;
    p.depth = g_.in_channels;
    p.inner = {across.taps, g_.dilations[1] * g_.all_in(), b_tap};
    p.outer = {down.taps, g_.dilations[0] * line, g_.kernel[1] * b_tap};
    join(p, p.inner);
    if (p.inner.count == 1) join(p, p.outer);
    return p;
  }

  // Taps that lie side by side in both operands are a longer depth.
  static void join(SimdProduct& p, SimdTaps& taps) {
    const bool is_dense = taps.a_step == p.depth && taps.b_step == p.depth * p.b_stride;
    if (taps.count == 0 || (taps.count > 1 && !is_dense)) return;
    p.depth *= taps.count;
    taps = {};
  }

  ConvPlane g_;
  std::shared_ptr<const std::byte> packed_;
  ConvTail tail_;
  std::vector<Stretch> down_, across_;
  bool has_large_weights_;
  bool has_few_outputs_;
  std::vector<ColumnRange> ranges_;
  std::int64_t lines_at_once_;
};

Result<std::shared_ptr<const std::byte>> packed_weights(const KernelRequest& r,
                                                        const ConvPlane& g) {
  const ConstantSource& source = *r.inputs[1].constant;
  const std::int64_t depth = g.taps() * g.in_channels;
  const std::int64_t matrix = g.taps() * g.matrix_floats();
  const bool is_few = are_few_outputs(g);
  const auto fill = [&](std::byte* packed) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    auto* to = reinterpret_cast<float*>(packed);
    StopCheck check(r.target.stop);
    for (std::int64_t group = 0; group < g.groups; ++group)
      for (std::int64_t tap = 0; tap < g.taps(); ++tap) {
        // They are [groups * out, in, taps].
        const auto weight = [&](std::int64_t channel, std::int64_t n) {
          const std::int64_t filter = group * g.out_channels + n;
          float w;  // may be unaligned in a mapped file
          std::memcpy(&w, t.data() + ((filter * g.in_channels + channel) * g.taps() + tap) * 4,
                      sizeof w);
          return w;
        };
        const std::int64_t before = tap * g.in_channels;
        if (!is_few)
          pack_panels(g.in_channels, g.out_channels, to + group * matrix + before * simd_panel,
                      depth * simd_panel, check, weight);
        for (std::int64_t n = 0; is_few && n < g.out_channels; ++n)
          for (std::int64_t c = 0; c < g.in_channels; ++c)
            to[n * depth + before + c] = weight(c, n);
      }
    return r.target.packed();
  };
  const std::int64_t floats = is_few ? g.out_channels * depth : g.packed_floats();
  return r.target.weights->find_or_make(
      cat("conv rows|", g.groups, is_few ? " few|" : "|", source.key()),
      static_cast<std::size_t>(floats) * sizeof(float), fill);
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
  KernelChoice choice = own_conv_choice(r, "rows");
  ConvTail tail = take_tail(r, choice);
  choice.work = std::make_unique<ConvRows>(g, std::move(packed), std::move(tail));
  return std::optional<KernelChoice>(std::move(choice));
}

bool has_few_outputs(const KernelRequest& r) {
  return suits_conv_rows(r) && are_few_outputs(geometry(r));
}

}  // namespace quern
