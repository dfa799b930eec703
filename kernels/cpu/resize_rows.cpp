// SPDX-License-Identifier: Apache-2.0
// Resize along one axis, or two that are adjacent in memory, in any layout of the input: first the
// rows that an output row needs are summed, then the elements along that row. The weights are
// computed when the kernel is chosen. Sums in f32; nearest moves elements of any size.
#include "kernels/cpu/resize_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/resampling.h"
#include "graph/ops/resize_axes.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/movement.h"
#include "kernels/contract/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

// The taps of every output element along one axis, those of element i in [begin[i], begin[i + 1]).
struct AxisWeights {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::vector<std::int32_t> begin = {0, 1};
  std::vector<std::int32_t> index = {0};
  std::vector<float> weight = {1};

  std::int64_t count(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return begin[at + 1] - begin[at];
  }
  std::size_t first(std::int64_t i) const {
    return static_cast<std::size_t>(begin[static_cast<std::size_t>(i)]);
  }
  bool copies(std::int64_t i) const { return count(i) == 1 && weight[first(i)] == 1; }
};

// x[outer][rows][columns][inner], where rows and columns are resized.
struct Geometry {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  AxisWeights rows;
  AxisWeights columns;

  std::int64_t in_row() const { return columns.in * inner; }
  std::int64_t out_row() const { return columns.out * inner; }
};

// ---- interpolation

class ResizeRows final : public CpuKernel {
 public:
  ResizeRows(Geometry g, int threads) : g_(std::move(g)) {
    const std::int64_t elements = g_.outer * g_.rows.out * g_.out_row();
    tasks_ = std::clamp<std::int64_t>(elements / elements_per_thread(), 1, threads);
    list_columns();
  }
  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(tasks_ * g_.in_row()) * sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    const std::int64_t rows = g_.outer * g_.rows.out;
    parallel(tasks_, 1, [&](std::int64_t begin, std::int64_t end) {
      StopCheck check(args.stop);
      for (std::int64_t t = begin; t < end; ++t)
        for (std::int64_t r = rows * t / tasks_;
             r < rows * (t + 1) / tasks_ && !check.spend(g_.out_row()); ++r)
          run_row(x + r / g_.rows.out * g_.rows.in * g_.in_row(), r % g_.rows.out,
                  scratch + t * g_.in_row(), y + r * g_.out_row(), check);
    });
    return {};
  }

 private:
  // Lists the taps of every element of a row of results, so that neighbours of short columns are
  // summed at once. All get the same number of taps: see write_taps.
  void list_columns() {
    if (g_.inner >= shortest_unlisted) return;
    std::int64_t most = 0;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::int64_t c = 0; c < g_.columns.out; ++c) {
      most = std::max(most, g_.columns.count(c));
      least = std::min(least, g_.columns.count(c));
    }
    if (most - least > most_halvings || g_.out_row() > most_listed / most ||
        g_.in_row() > std::numeric_limits<std::int32_t>::max())
      return;
    taps_ = most;
    index_.resize(static_cast<std::size_t>(taps_ * g_.out_row()));
    weight_.resize(index_.size());
    for (std::int64_t c = 0; c < g_.columns.out; ++c)
      for (std::int64_t k = 0; k < g_.inner; ++k) write_taps(c, k);
  }

  // Writes the taps of element k of a column. Those that it lacks are parts of its last one, which
  // come first and double up to it without rounding: a tap of weight 0 would turn an infinity into
  // NaN.
  void write_taps(std::int64_t column, std::int64_t k) {
    const std::size_t first = g_.columns.first(column);
    const std::int64_t count = g_.columns.count(column);
    const std::int64_t missing = taps_ - count;
    std::int64_t at = column * g_.inner + k;
    const auto write = [&](std::int64_t tap, float part) {
      const std::size_t from = first + static_cast<std::size_t>(tap);
      index_[static_cast<std::size_t>(at)] =
          g_.columns.index[from] * static_cast<std::int32_t>(g_.inner) +
          static_cast<std::int32_t>(k);
      weight_[static_cast<std::size_t>(at)] = g_.columns.weight[from] * part;
      at += g_.out_row();
    };
    write(count - 1, std::ldexp(1.0F, static_cast<int>(-missing)));
    for (std::int64_t half = missing; half > 0; --half)
      write(count - 1, std::ldexp(1.0F, static_cast<int>(-half)));
    for (std::int64_t tap = 0; tap + 1 < count; ++tap) write(tap, 1);
  }

  void run_row(const float* x, std::int64_t row, float* sum, float* y, StopCheck& check) const {
    const float* source = sum;
    if (g_.rows.copies(row)) {
      source = x + g_.rows.index[g_.rows.first(row)] * g_.in_row();
    } else {
      weigh(g_.rows, row, x, g_.in_row(), sum, check);
    }
    if (taps_ > 0)
      return simd().weigh_gathered(source, index_.data(), weight_.data(), taps_, y, g_.out_row());
    for (std::int64_t c = 0; c < g_.columns.out; ++c)
      weigh(g_.columns, c, source, g_.inner, y + c * g_.inner, check);
  }

  static void weigh(const AxisWeights& w, std::int64_t i, const float* x, std::int64_t n, float* y,
                    StopCheck& check) {
    const std::int64_t piece = std::max(cut_size(4096), cut_size(1 << 22) / w.count(i));
    for (std::int64_t at = 0; at < n; at += piece) {
      const std::int64_t count = std::min(piece, n - at);
      if (check.spend(1 + count * w.count(i) / 4)) return;
      simd().weigh_rows(x + at, n, w.index.data() + w.first(i), w.weight.data() + w.first(i),
                        w.count(i), y + at, count);
    }
  }

  static constexpr std::int64_t shortest_unlisted = 16;  // elements of a column
  static constexpr std::int64_t most_halvings = 60;
  static constexpr std::int64_t most_listed = std::int64_t{1} << 24;

  Geometry g_;
  std::int64_t tasks_ = 1;
  std::int64_t taps_ = 0;  // of a listed element; 0: columns are summed one by one
  std::vector<std::int32_t> index_;
  std::vector<float> weight_;
};

// ---- nearest

class NearestRows final : public CpuKernel {
 public:
  NearestRows(Geometry g, std::size_t element_size) : g_(std::move(g)), size_(element_size) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto in_row = static_cast<std::size_t>(g_.in_row()) * size_;
    const auto out_row = static_cast<std::size_t>(g_.out_row()) * size_;
    parallel(g_.outer * g_.rows.out, row_grain(g_.out_row()),
             [&](std::int64_t begin, std::int64_t end) {
               StopCheck check(args.stop);
               for (std::int64_t r = begin; r < end && !check.is_over(); ++r) {
                 std::byte* y = args.outputs[0] + static_cast<std::size_t>(r) * out_row;
                 if (r > begin && repeats(r)) {
                   copy_bytes(y - out_row, out_row, y, check);
                   continue;
                 }
                 const std::int64_t from =
                     r / g_.rows.out * g_.rows.in + index(g_.rows, r % g_.rows.out);
                 pick(args.inputs[0] + static_cast<std::size_t>(from) * in_row, y, check);
               }
             });
    return {};
  }

 private:
  static std::int64_t index(const AxisWeights& w, std::int64_t i) {
    return w.index[static_cast<std::size_t>(i)];
  }
  // True if output row r equals the previous one.
  bool repeats(std::int64_t r) const {
    const std::int64_t row = r % g_.rows.out;
    return row > 0 && index(g_.rows, row) == index(g_.rows, row - 1);
  }
  void pick(const std::byte* x, std::byte* y, StopCheck& check) const {
    const std::size_t n = static_cast<std::size_t>(g_.inner) * size_;
    switch (n) {
      case 1: return pick_elements<std::uint8_t>(x, y, check);
      case 4: return pick_elements<std::uint32_t>(x, y, check);
      case 8: return pick_elements<std::uint64_t>(x, y, check);
      default: break;
    }
    for (std::int64_t c = 0; c < g_.columns.out; ++c)
      copy_bytes(x + static_cast<std::size_t>(index(g_.columns, c)) * n, n,
                 y + static_cast<std::size_t>(c) * n, check);
  }
  template <class T>
  void pick_elements(const std::byte* x, std::byte* y, StopCheck& check) const {
    const auto* from = reinterpret_cast<const T*>(x);
    auto* to = reinterpret_cast<T*>(y);
    for_each_until(g_.columns.out, 1, check,
                   [&](std::int64_t c) { to[c] = from[index(g_.columns, c)]; });
  }

  Geometry g_;
  std::size_t size_;
};

// ---- choosing

// nullopt if an element has no taps because it lies outside the input, or if there are too many
// taps: the reference, whose memory is planned, takes those.
std::optional<AxisWeights> weights_of(const Resize& op, const ResizeAxis& axis) {
  if (!can_list_taps(op, axis)) return std::nullopt;
  std::vector<ResizeTap> taps(max_resize_taps(op, axis.in, axis.out));
  AxisWeights w;
  w.in = axis.in;
  w.out = axis.out;
  w.begin = {0};
  w.index.clear();
  w.weight.clear();
  StopCheck no_limit(nullptr);
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const std::size_t n = resize_taps(op, axis, i, no_limit, taps);
    if (n == 0) return std::nullopt;
    for (std::size_t t = 0; t < n; ++t) {
      w.index.push_back(static_cast<std::int32_t>(taps[t].index));
      w.weight.push_back(static_cast<float>(taps[t].weight));
    }
    w.begin.push_back(static_cast<std::int32_t>(w.index.size()));
  }
  return w;
}

// The dimensions of the input in memory order, each with its axis; a block of channels comes last
// and has none.
struct LyingDim {
  std::int64_t size;
  std::optional<std::size_t> axis;
};
std::vector<LyingDim> lying_dims(const TensorDesc& t) {
  const std::int64_t block = t.layout.block;
  std::vector<LyingDim> dims;
  for (std::size_t d = 0; d < t.shape.rank(); ++d)
    dims.push_back({block && d == 1 ? ceil_div(t.shape[d], block) : t.shape[d], d});
  if (block) {
    dims.push_back({block, std::nullopt});
  } else if (is_channels_last(t)) {
    std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  }
  return dims;
}

bool is_resized(const ResizeAxis& a) {
  return !a.is_identity();
}

std::optional<Geometry> geometry_of(const Resize& op, const TensorDesc& x, const ResizeAxes& axes) {
  Geometry g;
  std::vector<const ResizeAxis*> resized;
  for (const LyingDim& d : lying_dims(x)) {
    const ResizeAxis* axis = d.axis && is_resized(axes[*d.axis]) ? &axes[*d.axis] : nullptr;
    if (!axis) {
      (resized.empty() ? g.outer : g.inner) *= d.size;
      continue;
    }
    if (g.inner != 1 || resized.size() == 2 || (x.layout.block && *d.axis == 1))
      return std::nullopt;
    resized.push_back(axis);
  }
  if (resized.empty()) return std::nullopt;
  const auto columns = weights_of(op, *resized.back());
  if (!columns) return std::nullopt;
  g.columns = *columns;
  if (resized.size() == 1) return g;
  const auto rows = weights_of(op, *resized.front());
  if (!rows) return std::nullopt;
  g.rows = *rows;
  return g;
}

Layout layout_like(const Layout& x, const TensorDesc& in, const Shape& out) {
  if (x.block) return Layout::channel_blocked(out, x.block);
  return is_channels_last(in) ? Layout::channels_last(out) : Layout::row_major(out);
}

}  // namespace

Selection select_resize_rows(const KernelRequest& r) {
  const auto& op = r.as<Resize>();
  const bool nearest = op.mode == ResizeMode::nearest;
  const Shape& out = r.outputs[0].shape;
  if (op.coordinates == CoordinateMode::tf_crop_and_resize || out.elements() == 0 ||
      r.dtype(0) == DType::string || (!nearest && r.dtype(0) != DType::f32))
    return unsupported();
  const auto axes = constant_resize_axes(r);
  if (!axes) return unsupported();
  TensorDesc x = r.inputs[0].desc;
  if (!x.layout.block && !is_channels_last(x)) x.layout = Layout::row_major(x.shape);
  auto geometry = geometry_of(op, x, *axes);
  if (!geometry) return unsupported();
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  choice.input_layouts.resize(r.inputs.size());
  choice.input_layouts[0] = x.layout;
  choice.output_layouts = {layout_like(x.layout, x, out)};
  if (nearest) {
    choice.work = std::make_unique<NearestRows>(std::move(*geometry), size_of(x.dtype));
  } else {
    auto kernel = std::make_unique<ResizeRows>(std::move(*geometry), r.target.team.threads);
    choice.scratch_bytes = kernel->scratch_bytes();
    choice.work = std::move(kernel);
  }
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
