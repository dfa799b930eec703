// SPDX-License-Identifier: Apache-2.0
// Resize of two neighbouring dimensions at most (as they lie in memory), which are the height and the
// width of pictures in either layout. Rows of the output are sums of input rows; within a row, runs
// of the channels behind the width are added up, or single elements where nothing lies behind it.
// Taps and weights are listed when the plan is made.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>

#include "graph/text_util.h"
#include "kernels/kernel.h"
#include "kernels/resize.h"
#include "kernels/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

struct Taps {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::size_t room = 1;             // for one element
  std::vector<std::int64_t> index;  // [out][room]
  std::vector<float> weight;        // 0 where an element has fewer

  std::span<const std::int64_t> indices(std::int64_t x) const {
    return std::span(index).subspan(static_cast<std::size_t>(x) * room, room);
  }
  std::span<const float> weights(std::int64_t x) const {
    return std::span(weight).subspan(static_cast<std::size_t>(x) * room, room);
  }
};

// Nothing where elements lie outside of the region and get the extrapolation value.
std::optional<Taps> list_taps(const Resize& op, const ResizeAxis& axis) {
  Taps t{.in = axis.in, .out = axis.out, .room = max_resize_taps(op, axis.in, axis.out)};
  std::vector<ResizeTap> taps(t.room);
  for (std::int64_t x = 0; x < axis.out; ++x) {
    const std::size_t n = resize_taps(op, axis, x, taps);
    if (n == 0) return std::nullopt;
    for (std::size_t i = 0; i < t.room; ++i) {
      t.index.push_back(taps[std::min(i, n - 1)].index);
      t.weight.push_back(i < n ? static_cast<float>(taps[i].weight) : 0.0f);
    }
  }
  return t;
}

// outer x height x width x inner; without a second resized dimension the height is 1.
struct Geometry {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  Taps height, width;
};

// ---- sums, in f32 ------------------------------------------------------------------------------

class Interpolate final : public CpuKernel {
 public:
  explicit Interpolate(Geometry g) : g_(std::move(g)) {}

  std::int64_t row_floats() const { return g_.width.in * g_.inner; }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* x = reinterpret_cast<const float*>(args.inputs[0]);
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    const std::int64_t row_out = g_.width.out * g_.inner;
    const auto taps = static_cast<std::int64_t>(g_.height.room * g_.width.room);
    std::atomic<std::int64_t> parts{0};
    parallel(g_.outer * g_.height.out, row_grain(row_out * taps),
             [&](std::int64_t begin, std::int64_t end) {
               float* sum = reinterpret_cast<float*>(args.scratch) + parts++ * row_floats();
               for (std::int64_t r = begin; r < end; ++r)
                 row(x + r / g_.height.out * g_.height.in * row_floats(), r % g_.height.out, sum,
                     y + r * row_out);
             });
    return {};
  }

 private:
  void row(const float* x, std::int64_t at, float* sum, float* y) const {
    const float* from = sum_of_rows(x, at, sum);
    if (g_.inner == 1) return pick_elements(from, y);
    std::fill_n(y, g_.width.out * g_.inner, 0.0f);
    add_runs(from, y);
  }

  // The rows of x that make up row `at`: added up in `sum`, or the one there is.
  const float* sum_of_rows(const float* x, std::int64_t at, float* sum) const {
    const auto indices = g_.height.indices(at);
    const auto weights = g_.height.weights(at);
    if (weights[0] == 1) return x + indices[0] * row_floats();
    const Simd& s = simd();
    s.binary(BinaryKind::mul, {x + indices[0] * row_floats(), false}, {&weights[0], true}, sum,
             row_floats());
    for (std::size_t t = 1; t < indices.size(); ++t)
      if (weights[t] != 0) s.axpy(weights[t], x + indices[t] * row_floats(), sum, row_floats());
    return sum;
  }

  void pick_elements(const float* x, float* y) const {
    const Taps& w = g_.width;
    const std::int64_t* index = w.index.data();
    const float* weight = w.weight.data();
    if (w.room == 2) {
      for (std::int64_t i = 0; i < w.out; ++i, index += 2, weight += 2)
        y[i] = weight[0] * x[index[0]] + weight[1] * x[index[1]];
      return;
    }
    for (std::int64_t i = 0; i < w.out; ++i) {
      float sum = 0;
      for (std::size_t t = 0; t < w.room; ++t) sum += *weight++ * x[*index++];
      y[i] = sum;
    }
  }

  void add_runs(const float* x, float* y) const {
    for (std::int64_t i = 0; i < g_.width.out; ++i, y += g_.inner) {
      const auto indices = g_.width.indices(i);
      const auto weights = g_.width.weights(i);
      for (std::size_t t = 0; t < indices.size(); ++t)
        if (weights[t] != 0) simd().axpy(weights[t], x + indices[t] * g_.inner, y, g_.inner);
    }
  }

  Geometry g_;
};

// ---- copies, of any type -----------------------------------------------------------------------

class PickNearest final : public CpuKernel {
 public:
  PickNearest(Geometry g, std::size_t element_size)
      : g_(std::move(g)), run_(static_cast<std::size_t>(g_.inner) * element_size) {}

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const std::size_t row_in = static_cast<std::size_t>(g_.width.in) * run_;
    const std::size_t row_out = static_cast<std::size_t>(g_.width.out) * run_;
    const std::int64_t rows = g_.outer * g_.height.out;
    parallel(rows, row_grain(g_.width.out * g_.inner), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t at = r % g_.height.out;
        const std::int64_t source = r / g_.height.out * g_.height.in + g_.height.index[static_cast<std::size_t>(at)];
        std::byte* to = args.outputs[0] + static_cast<std::size_t>(r) * row_out;
        // The same row once more: while it is in the cache.
        const bool again = at > 0 && r > begin && g_.height.index[static_cast<std::size_t>(at)] ==
                                                     g_.height.index[static_cast<std::size_t>(at - 1)];
        if (again) {
          std::memcpy(to, to - row_out, row_out);
        } else {
          pick(args.inputs[0] + static_cast<std::size_t>(source) * row_in, to);
        }
      }
    });
    return {};
  }

 private:
  void pick(const std::byte* x, std::byte* y) const {
    switch (run_) {
      case 1: return pick_as<std::uint8_t>(x, y);
      case 2: return pick_as<std::uint16_t>(x, y);
      case 4: return pick_as<std::uint32_t>(x, y);
      case 8: return pick_as<std::uint64_t>(x, y);
      default:
        for (std::int64_t i : g_.width.index) {
          std::memcpy(y, x + static_cast<std::size_t>(i) * run_, run_);
          y += run_;
        }
    }
  }
  template <class T>
  void pick_as(const std::byte* x, std::byte* y) const {
    const auto* from = reinterpret_cast<const T*>(x);
    auto* to = reinterpret_cast<T*>(y);
    for (std::int64_t i : g_.width.index) *to++ = from[i];
  }

  Geometry g_;
  std::size_t run_;
};

// ---- choosing ----------------------------------------------------------------------------------

// Row-major or channels last, whatever the input is nearer to. Runs of a few channels do not fill
// a register.
Layout wanted_layout(const TensorDesc& x) {
  return is_channels_last(x) && x.shape[1] >= 8 ? x.layout : Layout::row_major(x.shape);
}

// The dimensions of the input from the outermost in memory to the innermost.
std::vector<std::size_t> memory_order(const Shape& shape, bool channels_last) {
  std::vector<std::size_t> order(shape.rank());
  std::iota(order.begin(), order.end(), 0);
  if (channels_last) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::optional<Geometry> geometry(const Resize& op, const ResizeAxes& axes,
                                 std::span<const std::size_t> order) {
  std::size_t last = order.size();
  while (last > 0 && axes[order[last - 1]].is_identity()) --last;
  std::size_t first = 0;
  while (first < last && axes[order[first]].is_identity()) ++first;
  if (last - first > 2) return std::nullopt;
  Geometry g;
  for (std::size_t d = 0; d < first; ++d) g.outer *= axes[order[d]].in;
  for (std::size_t d = last; d < order.size(); ++d) g.inner *= axes[order[d]].in;
  auto height = list_taps(op, last - first == 2 ? axes[order[first]] : ResizeAxis{});
  auto width = list_taps(op, last > first ? axes[order[last - 1]] : ResizeAxis{});
  if (!height || !width) return std::nullopt;
  g.height = std::move(*height);
  g.width = std::move(*width);
  return g;
}

bool copies(const Resize& op) {
  return op.mode == ResizeMode::nearest && op.coordinates != CoordinateMode::tf_crop_and_resize;
}

}  // namespace

Selection select_resize_rows(const KernelRequest& r) {
  const auto& op = r.as<Resize>();
  const TensorDesc& x = r.inputs[0].desc;
  if (r.outputs[0].shape.elements() == 0 || x.dtype == DType::string) return not_for_me();
  if (!copies(op) && x.dtype != DType::f32) return not_for_me();
  std::array<Tensor, 4> operands;
  std::array<TensorView, 4> views;
  for (std::size_t i = 1; i < 4; ++i) {
    if (!r.has(i)) continue;
    if (!r.inputs[i].constant) return not_for_me();
    QUERN_ASSIGN(operands[i], r.inputs[i].constant->get());
    views[i] = operands[i].view();
  }
  ResizeAxes axes;
  QUERN_TRY(resolve_resize(op, x.shape, {views[1], views[2], views[3]}, axes));
  const Layout layout = wanted_layout(x);
  const bool channels_last = x.shape.rank() >= 3 && !is_row_major({x.dtype, x.shape, layout});
  auto g = geometry(op, axes, memory_order(x.shape, channels_last));
  if (!g) return not_for_me();
  KernelChoice choice;
  choice.input_layouts = {layout};
  choice.output_layouts = {channels_last ? Layout::channels_last(r.outputs[0].shape)
                                         : Layout::row_major(r.outputs[0].shape)};
  if (copies(op)) {
    choice.implementation = "rows";
    choice.kernel = std::make_unique<PickNearest>(std::move(*g), size_of(x.dtype));
  } else {
    choice.implementation = cat("rows ", simd().name);
    auto kernel = std::make_unique<Interpolate>(std::move(*g));
    choice.scratch_bytes = static_cast<std::size_t>(r.target.threads * kernel->row_floats()) * sizeof(float);
    choice.kernel = std::move(kernel);
  }
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
