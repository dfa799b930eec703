// SPDX-License-Identifier: Apache-2.0
// Conv of 3x3 in Winograd's form F(4x4, 3x3), channels last: 36 products of a quarter of the
// multiplications. Some tiles at a time are transformed, multiplied and transformed back, so that
// what lies between stays in the second-level cache.
#include "kernels/cpu/conv_winograd.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/conv.h"
#include "graph/ops/windows.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/winograd.h"
#include "kernels/cpu/conv_tail.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr std::int64_t points = 36, tile = 4, window = 3;

struct Sizes {
  std::int64_t images, in, out;  // channels
  std::int64_t height, width, out_height, out_width;
  std::int64_t top, left;  // pads

  std::int64_t tiles_down() const { return ceil_div(out_height, tile); }
  std::int64_t tiles_across() const { return ceil_div(out_width, tile); }
  std::int64_t tiles() const { return images * tiles_down() * tiles_across(); }
  // The weights of one point, in panels.
  std::int64_t matrix_floats() const { return round_up(out, simd_panel) * in; }
};

Sizes sizes_of(const KernelRequest& r) {
  const Shape& x = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const ResolvedWindow w =
      resolve_window(r.as<Conv>().window, x.dims().subspan(2), r.shape(1).dims().subspan(2));
  return {x[0], x[1], y[1], x[2], x[3], y[2], y[3], w.pads_begin[0], w.pads_begin[1]};
}

class ConvWinograd final : public CpuKernel {
 public:
  // `packed`: for each point a matrix of in x out channels in panels.
  ConvWinograd(const Sizes& s, std::shared_ptr<const std::byte> packed, ConvTail tail, int threads)
      : s_(s), packed_(std::move(packed)), tail_(std::move(tail)) {
    // Half a MiB of what lies between the transforms, in whole tiles of the product.
    constexpr std::int64_t cached_floats = std::int64_t{512} * 1024 / 4, rows = 6;
    const std::int64_t fitting = cached_floats / (points * (s.in + s.out)) / rows * rows;
    at_once_ = std::min(s.tiles(), std::clamp<std::int64_t>(fitting, 2 * rows, 8 * rows));
    const std::int64_t blocks = ceil_div(s.tiles(), at_once_);
    const std::int64_t work = s.tiles() * points * s.in * s.out;
    tasks_ = std::clamp<std::int64_t>(work / cut_size(200'000), 1,
                                      std::min<std::int64_t>(threads, blocks));
  }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(tasks_ * task_floats()) * sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::int64_t blocks = ceil_div(s_.tiles(), at_once_);
    parallel(tasks_, 1, [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t t = begin; t < end; ++t) {
        float* scratch = reinterpret_cast<float*>(args.scratch) + t * task_floats();
        for (std::int64_t b = blocks * t / tasks_;
             b < blocks * (t + 1) / tasks_ && !check.is_over(); ++b)
          run_block(args, b * at_once_, std::min(s_.tiles(), (b + 1) * at_once_), scratch, check);
      }
    });
    return {};
  }

 private:
  struct Tile {
    std::int64_t image, y, x;  // its first element of the result
  };

  std::int64_t task_floats() const { return points * at_once_ * (s_.in + s_.out); }

  Tile tile_of(std::int64_t t) const {
    const std::int64_t of_image = s_.tiles_down() * s_.tiles_across(), rest = t % of_image;
    return {t / of_image, rest / s_.tiles_across() * tile, rest % s_.tiles_across() * tile};
  }

  // Tiles [begin, end). Scratch holds [points][tiles] rows of x's channels, then of the result's.
  void run_block(const KernelArgs& args, std::int64_t begin, std::int64_t end, float* v,
                 StopCheck& check) const {
    const std::int64_t count = end - begin;
    float* m = v + points * at_once_ * s_.in;
    if (check.spend(1 + count * (s_.in + s_.out))) return;
    for (std::int64_t t = 0; t < count; ++t)
      transform_input(args, tile_of(begin + t), count, v + t * s_.in);
    for (std::int64_t p = 0; p < points && !check.is_over(); ++p) {
      SimdProduct product{};
      product.a = v + p * count * s_.in;
      product.a_stride = s_.in;
      product.b = reinterpret_cast<const float*>(packed_.get()) + p * s_.matrix_floats();
      product.b_stride = simd_panel;
      product.b_panel = simd_panel * s_.in;
      product.c = m + p * count * s_.out;
      product.c_stride = s_.out;
      product.rows = count;
      product.depth = s_.in;
      product.columns = s_.out;
      multiply_until(product, check);
    }
    for (std::int64_t t = 0; t < count && !check.is_over(); ++t)
      transform_output(args, tile_of(begin + t), m + t * s_.out, count);
  }

  void transform_input(const KernelArgs& args, const Tile& at, std::int64_t count, float* v) const {
    const std::int64_t y = at.y - s_.top, x = at.x - s_.left;
    const auto inside = [](std::int64_t n) {
      return static_cast<int>(std::clamp<std::int64_t>(n, 0, tile + window - 1));
    };
    SimdWinogradInput in{};
    in.line = s_.width * s_.in;
    in.channels = s_.in;
    in.x = reinterpret_cast<const float*>(args.inputs[0]) + at.image * s_.height * in.line +
           y * in.line + x * s_.in;
    in.top = inside(-y);
    in.bottom = inside(s_.height - y);
    in.left = inside(-x);
    in.right = inside(s_.width - x);
    in.v = v;
    in.v_stride = count * s_.in;
    simd().winograd_input(in);
  }

  void transform_output(const KernelArgs& args, const Tile& at, const float* m,
                        std::int64_t count) const {
    const std::int64_t line = s_.out_width * s_.out;
    const std::int64_t offset = at.image * s_.out_height * line + at.y * line + at.x * s_.out;
    SimdWinogradOutput out{};
    out.m = m;
    out.m_stride = count * s_.out;
    if (tail_.has_bias) out.bias = reinterpret_cast<const float*>(args.inputs[2]);
    out.y = reinterpret_cast<float*>(args.outputs[0]) + offset;
    out.line = line;
    out.channels = s_.out;
    out.lines = static_cast<int>(std::min(tile, s_.out_height - at.y));
    out.positions = static_cast<int>(std::min(tile, s_.out_width - at.x));
    out.accumulate = tail_.residual.has_value();
    out.range = tail_.range;
    const std::int64_t run = out.positions * s_.out;
    if (tail_.residual) {
      const float* from = reinterpret_cast<const float*>(args.inputs[*tail_.residual]) + offset;
      for (std::int64_t l = 0; l < out.lines && from != out.y; ++l)
        std::copy_n(from + l * line, run, out.y + l * line);
    }
    simd().winograd_output(out);
    for (std::int64_t l = 0; l < out.lines; ++l)
      apply_functions(tail_.functions, out.y + l * line, run);
  }

  Sizes s_;
  std::shared_ptr<const std::byte> packed_;
  ConvTail tail_;
  std::int64_t at_once_;  // tiles
  std::int64_t tasks_;
};

// From a window to the values at the points: those of a polynomial of its weights, divided by the
// product of the point's distances from the others; the last weight at infinity.
std::array<std::array<double, window>, 6> weights_to_points() {
  std::array<std::array<double, window>, 6> g{};
  for (std::size_t i = 0; i < 5; ++i) {
    double distances = 1;
    for (std::size_t j = 0; j < 5; ++j)
      if (j != i) distances *= winograd_points[i] - winograd_points[j];
    g[i] = {1 / distances, winograd_points[i] / distances,
            winograd_points[i] * winograd_points[i] / distances};
  }
  g[5] = {0, 0, 1};
  return g;
}

// The filters of one panel of outputs for one channel, by lanes: [9] to [36].
struct Filters {
  using Lanes = std::array<double, simd_panel>;

  std::array<Lanes, window * window> weights;
  std::array<std::array<Lanes, window>, 6> half;  // transformed down
};

void transform_weights(Filters& f, float* to, std::int64_t matrix) {
  static const auto g = weights_to_points();
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t x = 0; x < window; ++x)
      for (std::size_t l = 0; l < f.half[i][x].size(); ++l)
        f.half[i][x][l] = g[i][0] * f.weights[x][l] + g[i][1] * f.weights[window + x][l] +
                          g[i][2] * f.weights[2 * window + x][l];
  for (std::size_t i = 0; i < 6; ++i)
    for (std::size_t j = 0; j < 6; ++j, to += matrix)
      for (std::size_t l = 0; l < f.half[i][0].size(); ++l)
        to[l] = static_cast<float>(g[j][0] * f.half[i][0][l] + g[j][1] * f.half[i][1][l] +
                                   g[j][2] * f.half[i][2][l]);
}

Result<std::shared_ptr<const std::byte>> packed_weights(const KernelRequest& r, const Sizes& s) {
  const ConstantSource& source = *r.inputs[1].constant;
  const auto fill = [&](std::byte* packed) -> Status {
    QUERN_ASSIGN(const Tensor t, source.get());
    auto* to = reinterpret_cast<float*>(packed);
    Filters filters{};
    StopCheck check(r.target.stop);
    const std::int64_t work = s.in * simd_panel * points;
    for (std::int64_t n = 0; n < s.out && !check.spend(work); n += simd_panel)
      for (std::int64_t c = 0; c < s.in; ++c) {
        for (std::int64_t l = 0; l < std::min(simd_panel, s.out - n); ++l) {
          std::array<float, window * window> w;  // may be unaligned in a mapped file
          std::memcpy(w.data(), t.data() + static_cast<std::size_t>((n + l) * s.in + c) * sizeof w,
                      sizeof w);
          for (std::size_t i = 0; i < w.size(); ++i)
            filters.weights[i][static_cast<std::size_t>(l)] = static_cast<double>(w[i]);
        }
        transform_weights(filters, to + n * s.in + c * simd_panel, s.matrix_floats());
      }
    return r.target.packed();
  };
  return r.target.weights->find_or_make(
      cat("conv winograd|", source.key()),
      static_cast<std::size_t>(points * s.matrix_floats()) * sizeof(float), fill);
}

}  // namespace

bool suits_conv_winograd(const KernelRequest& r) {
  const auto& op = r.as<Conv>();
  if (r.shape(0).rank() != 4 || r.dtype(0) != DType::f32 || !r.inputs[1].constant || op.group != 1)
    return false;
  const Shape& w = r.shape(1);
  const ResolvedWindow window_of =
      resolve_window(op.window, r.shape(0).dims().subspan(2), w.dims().subspan(2));
  for (std::size_t d = 0; d < 2; ++d)
    if (w[2 + d] != window || window_of.strides[d] != 1 || window_of.dilations[d] != 1)
      return false;
  return r.target.scratch && r.shape(0).elements() > 0 && w.elements() > 0 &&
         r.outputs[0].shape.elements() > 0;
}

bool faster_by_winograd(const Conv& conv, const Shape& weights, const Shape& result) {
  constexpr std::int64_t most_weights = std::int64_t{256} * 256 * 9;
  constexpr std::int64_t least_in = 12, least_out = 16, least_pixels = 13;
  if (simd().name == std::string_view("baseline") || conv.group != 1 || result.rank() != 4)
    return false;
  const auto all_one = [](const Ints& list) {
    return std::ranges::all_of(list, [](std::int64_t i) { return i == 1; });
  };
  return weights[2] == window && weights[3] == window && all_one(conv.window.strides) &&
         all_one(conv.window.dilations) && weights[0] >= least_out && weights[1] >= least_in &&
         weights.elements() <= most_weights && result[2] >= least_pixels &&
         result[3] >= least_pixels;
}

Selection select_conv_by_winograd(const KernelRequest& r) {
  const bool is_taken = !r.target.channels_last && r.dtype(0) == DType::f32 &&
                        faster_by_winograd(r.as<Conv>(), r.shape(1), r.outputs[0].shape);
  return is_taken ? select_conv_winograd(r) : unsupported();
}

Selection select_conv_winograd(const KernelRequest& r) {
  if (!suits_conv_winograd(r)) return unsupported();
  const Sizes s = sizes_of(r);
  QUERN_ASSIGN(auto packed, packed_weights(r, s));
  KernelChoice choice = own_conv_choice(r, "winograd");
  ConvTail tail = take_tail(r, choice);
  auto kernel =
      std::make_unique<ConvWinograd>(s, std::move(packed), std::move(tail), r.target.team.threads);
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
