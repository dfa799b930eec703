// SPDX-License-Identifier: Apache-2.0
// Dft and Stft by their definition, with fourier.comp.
#include <cmath>
#include <cstring>
#include <numbers>

#include "engine/vocabulary/text_util.h"
#include "graph/ops/random.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/rows.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {
namespace {

// exp(-2 pi i k / n) for every k, in pairs.
GpuConstant roots_of_unity(std::int64_t n) {
  GpuConstant c;
  c.key = cat("gpu-roots|", n);
  c.bytes = static_cast<std::size_t>(n) * 2 * sizeof(float);
  c.fill = [n](std::byte* to) -> Status {
    for (std::int64_t k = 0; k < n; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      const float pair[] = {static_cast<float>(std::cos(angle)),
                            static_cast<float>(std::sin(angle))};
      std::memcpy(to + static_cast<std::size_t>(k) * sizeof pair, pair, sizeof pair);
    }
    return {};
  };
  return c;
}

// Lines of x and y: number l is l % inner of part l / inner; strides in floats.
struct Lines {
  std::int64_t count, inner, length, size, bins;
  std::int64_t x_outer, x_inner, x_stride;
  std::int64_t y_outer, y_inner, y_stride;
  bool inverse = false, gives_real = false;  // the transform of each
};

Selection transform(const KernelRequest& request, const Lines& l, std::int64_t parts,
                    const BufferUse* window) {
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (request.dtype(0) != DType::f32 || x.elements() == 0 || y.elements() == 0 ||
      x.elements() >= limit || y.elements() >= limit || !can_loop(l.length, *request.gpu))
    return unsupported();
  Dispatch d;
  d.shader = "fourier";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, l.inverse, l.gives_real, word(parts), window != nullptr};
  const std::int64_t windowed = window ? request.shape(2).elements() : 0;
  for (std::int64_t v : {l.count * l.bins, l.bins, l.length, l.size, windowed, l.inner, l.x_outer,
                         l.x_inner, l.x_stride, l.y_outer, l.y_inner, l.y_stride})
    d.push.push_back(word(v));
  d.buffers = {BufferUse::input(0), BufferUse::constant(0), window ? *window : BufferUse::input(0),
               BufferUse::output(0)};
  // Roots lie anywhere in their table: a product of complex numbers costs as much as two others.
  d.operations = 16.0 * static_cast<double>(l.count * l.bins) * static_cast<double>(l.length);
  d.groups = linear_groups(static_cast<std::uint64_t>(l.count * l.bins), local, *request.gpu);
  KernelChoice choice;
  choice.implementation = "definition";
  choice.on_gpu().constants.push_back(roots_of_unity(l.length));
  choice.packed_inputs.assign(request.inputs.size(), true);
  choice.packed_inputs[0] = false;
  if (window) choice.packed_inputs[2] = false;
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

// The single integer of a constant input; nullopt if it is unknown.
std::optional<std::int64_t> known_int(const KernelRequest& request, std::size_t i) {
  const auto ints = constant_ints(request, i);
  return ints && ints->size() == 1 ? std::optional(ints->front()) : std::nullopt;
}

}  // namespace

Selection select_dft(const KernelRequest& request) {
  const auto& op = request.as<Dft>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  const auto given_axis = request.has(2) ? known_int(request, 2) : -2;
  if (!given_axis) return unsupported();
  const std::size_t axis = positive_axis(*given_axis, x.rank());
  const bool gives_real = op.inverse && op.onesided;
  const auto length = request.has(1) ? known_int(request, 1)
                      : gives_real   ? 2 * (x[axis] - 1)
                                     : x[axis];
  if (!length || *length < 1) return unsupported();
  const AxisSplit from = split_at(x, axis);
  const AxisSplit to = split_at(y, axis);
  return transform(request,
                   {.count = to.outer * (to.inner / y.back()),
                    .inner = to.inner / y.back(),
                    .length = *length,
                    .size = from.axis,
                    .bins = to.axis,
                    .x_outer = from.axis * from.inner,
                    .x_inner = x.back(),
                    .x_stride = from.inner,
                    .y_outer = to.axis * to.inner,
                    .y_inner = y.back(),
                    .y_stride = to.inner,
                    .inverse = op.inverse,
                    .gives_real = gives_real},
                   x.back(), nullptr);
}

Selection select_stft(const KernelRequest& request) {
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;  // batch, frames, bins, 2
  const auto step = known_int(request, 1);
  const auto frame = request.has(3)   ? known_int(request, 3)
                     : request.has(2) ? request.shape(2).elements()
                                      : x[1];
  if (!step || !frame || *frame < 1) return unsupported();
  const std::int64_t parts = x.rank() == 3 ? x[2] : 1;
  const BufferUse window = BufferUse::input(2);
  return transform(request,
                   {.count = y[0] * y[1],
                    .inner = y[1],
                    .length = *frame,
                    .size = *frame,
                    .bins = y[2],
                    .x_outer = x[1] * parts,
                    .x_inner = *step * parts,
                    .x_stride = parts,
                    .y_outer = y[1] * y[2] * 2,
                    .y_inner = y[2] * 2,
                    .y_stride = 2},
                   parts, request.has(2) ? &window : nullptr);
}

}  // namespace quern::gpu
