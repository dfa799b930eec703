// SPDX-License-Identifier: Apache-2.0
// Dft: the discrete Fourier transform along one axis of (x [.., 1 or 2], dft_length?, axis?); the
// last dimension holds the real and the imaginary part, or the real one alone.
//
// ONNX DFT, opsets 17 and 20; the axis of both, and the default -2. The input is cut or filled with
// zeros to the length. onesided gives the first length / 2 + 1 bins; onesided and inverse takes
// these and gives the real signal, of the length 2 * (bins - 1) unless told. Computed in double.
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/random.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/gpu/kernels.h"
#include "kernels/reference/fourier.h"

namespace quern {
namespace {

// ---- reference

// A line of x: `size` elements, `stride` apart, of `parts` numbers each.
template <class T>
struct Line {
  const T* x;
  std::int64_t size, stride, parts;

  Complex at(std::int64_t i) const {
    if (i >= size) return {};
    const T* v = x + i * stride;
    return {static_cast<double>(v[0]), parts == 2 ? static_cast<double>(v[1]) : 0};
  }
};

template <class T>
void load(const Dft& op, const Line<T>& line, FourierTransform& f) {
  const std::int64_t n = f.length();
  for_each_until(n, 4, f.check(), [&](std::int64_t i) { f.input()[i] = line.at(i); });
  if (!gives_real(op)) return;
  // The other half is the conjugate of what is given; where the halves meet, numbers are real.
  for_each_until(n / 2 + 1, 2, f.check(), [&](std::int64_t i) {
    if (i == 0 || 2 * i == n) {
      f.input()[i].im = 0;
    } else {
      f.input()[n - i] = conjugate(f.input()[i]);
    }
  });
}

template <class T>
void transform_lines(const ReferenceCall& call, std::size_t axis, FourierTransform& f) {
  const auto& op = call.as<Dft>();
  const Shape& xs = call.inputs[0].type.shape;
  const Shape& ys = call.outputs[0].type.shape;
  const AxisSplit from = split_at(xs, axis);
  const AxisSplit to = split_at(ys, axis);
  for (std::int64_t o = 0; o < to.outer; ++o)
    for (std::int64_t i = 0; i < to.inner / ys.back(); ++i) {
      const T* x = call.inputs[0].as<T>() + o * from.axis * from.inner + i * xs.back();
      load(op, Line<T>{x, from.axis, from.inner, xs.back()}, f);
      op.inverse ? f.inverse() : f.forward();
      if (f.check().is_over()) return;
      T* y = call.outputs[0].as<T>() + o * to.axis * to.inner + i * ys.back();
      for_each_until(to.axis, 4, f.check(), [&](std::int64_t k) {
        y[0] = T(f.output()[k].re);
        if (ys.back() == 2) y[1] = T(f.output()[k].im);
        y += to.inner;
      });
    }
}

Status dft_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const Shape& xs = call.inputs[0].type.shape;
  const std::size_t axis =
      positive_axis(call.has(2) ? int_element(call.inputs[2], 0) : -2, xs.rank());
  FourierTransform f(
      call.has(1) ? int_element(call.inputs[1], 0) : default_length(call.as<Dft>(), xs[axis]),
      call.scratch, call.stop);
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { transform_lines<T>(call, axis, f); });
  return {};
}

// The axis is not known here: no length passes twice the longest dimension of the output.
std::size_t dft_scratch(const Op&, std::span<const TensorType>,
                        std::span<const TensorType> outputs) {
  if (outputs[0].shape.elements() == 0) return 0;
  std::int64_t longest = 0;
  for (std::int64_t d : outputs[0].shape) longest = std::max(longest, d);
  return FourierTransform::scratch_bytes(2 * longest);
}

}  // namespace

const OpKernels& Dft::kernels() {
  static constexpr OpKernels table{.reference = {dft_reference, dft_scratch},
                                   .gpu = gpu::select_dft};
  return table;
}

}  // namespace quern
