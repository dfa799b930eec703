// SPDX-License-Identifier: Apache-2.0
// Stft: the Fourier transforms of windowed pieces of (signal [batch, length] or [batch, length, 1
// or 2], frame_step, window?, frame_length?): y[b, f, :] of signal[b, f * step + i] * window[i].
//
// ONNX STFT, opset 17. The frame is as long as told, else as the window, else as the signal. A
// window shorter than the frame leaves its end at 0. Only whole frames count. Computed in double.
#include "graph/numeric.h"
#include "graph/text_util.h"
#include "kernels/fourier.h"
#include "kernels/gpu/kernels.h"
#include "kernels/infer.h"
#include "kernels/kernel.h"
#include "kernels/operands.h"

namespace quern {
namespace {

std::int64_t bins(const Stft& op, std::int64_t frame) {
  return op.onesided ? frame / 2 + 1 : frame;
}

std::int64_t frames(std::int64_t signal, std::int64_t frame, std::int64_t step) {
  return signal < frame ? 0 : (signal - frame) / step + 1;
}

Status check_shapes(const InferContext& c) {
  if (const Dims* x = c.dims(0)) {
    if (x->size() != 2 && x->size() != 3)
      return c.error(cat(c.describe(0), " must have rank 2 or 3"));
    if (x->size() == 3 && x->back().known() && !x->back().is(1) && !x->back().is(2))
      return c.error(cat(c.describe(0), " must end in a dimension of 1 or 2"));
  }
  if (c.dims(2) && c.dims(2)->size() != 1) return c.error(cat(c.describe(2), " must have rank 1"));
  return {};
}

// The length of a frame, as far as it is known.
Result<Dim> frame_size(const InferContext& c) {
  QUERN_ASSIGN(const std::optional<std::int64_t> given, int_operand(c, 3));
  Dim size;
  if (c.has(3)) {
    if (given) size = *given < 0 ? Dim(0) : Dim(*given);
  } else if (c.has(2)) {
    if (c.dims(2)) size = c.dims(2)->front();
  } else if (c.dims(0)) {
    size = (*c.dims(0))[1];
  }
  if (size.known() && (size.value() < 1 || size.value() > max_extent))
    return c.error(cat("a frame has ", size.value(), " elements, wants 1 to ", max_extent));
  return size;
}

Status infer(InferContext& c) {
  QUERN_TRY(want_floats(c, 0));
  QUERN_TRY(c.want_same_dtype(0, 2));
  QUERN_TRY(check_shapes(c));
  QUERN_ASSIGN(const std::optional<std::int64_t> step, int_operand(c, 1));
  QUERN_ASSIGN(const Dim frame, frame_size(c));
  if (step && (*step < 1 || *step > max_extent))
    return c.error(cat("frame_step is ", *step, ", wants 1 to ", max_extent));
  Dims y(4);
  y[3] = 2;
  if (c.dims(0)) y[0] = c.dims(0)->front();
  if (c.dims(0) && (*c.dims(0))[1].known() && frame.known() && step)
    y[1] = frames((*c.dims(0))[1].value(), frame.value(), *step);
  if (frame.known()) y[2] = bins(c.op<Stft>(), frame.value());
  c.set(0, c.dtype(0), std::move(y));
  return {};
}

// ---- reference

template <class T>
void load_frame(const ReferenceCall& call, std::int64_t batch, std::int64_t begin,
                FourierTransform& f) {
  const Shape& xs = call.inputs[0].type.shape;
  const std::int64_t parts = xs.rank() == 3 ? xs[2] : 1;
  const T* x = call.inputs[0].as<T>() + (batch * xs[1] + begin) * parts;
  const T* window = call.has(2) ? call.inputs[2].as<T>() : nullptr;
  const std::int64_t windowed =
      window ? std::min(call.inputs[2].type.shape[0], f.length()) : f.length();
  for (std::int64_t i = 0; i < f.length(); ++i, x += parts) {
    f.input()[i] = {};
    if (i >= windowed) continue;
    const double weight = window ? static_cast<double>(window[i]) : 1;
    f.input()[i].re = weight * static_cast<double>(x[0]);
    if (parts == 2) f.input()[i].im = weight * static_cast<double>(x[1]);
  }
}

template <class T>
void transform_frames(const ReferenceCall& call, FourierTransform& f) {
  const Shape& ys = call.outputs[0].type.shape;
  const std::int64_t step = int_element(call.inputs[1], 0);
  T* y = call.outputs[0].as<T>();
  for (std::int64_t b = 0; b < ys[0]; ++b)
    for (std::int64_t i = 0; i < ys[1]; ++i) {
      load_frame<T>(call, b, i * step, f);
      f.forward();
      for (std::int64_t k = 0; k < ys[2]; ++k) {
        *y++ = T(f.output()[k].re);
        *y++ = T(f.output()[k].im);
      }
    }
}

Status reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const std::int64_t frame = call.has(3)   ? int_element(call.inputs[3], 0)
                             : call.has(2) ? call.inputs[2].type.shape[0]
                                           : call.inputs[0].type.shape[1];
  FourierTransform f(frame, call.scratch);
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { transform_frames<T>(call, f); });
  return {};
}

std::size_t scratch(const Op&, std::span<const TensorType>, std::span<const TensorType> outputs) {
  if (outputs[0].shape.elements() == 0) return 0;
  return FourierTransform::scratch_bytes(2 * outputs[0].shape[2]);
}

constexpr OpKernels kernels{.gpu = gpu::select_stft};

}  // namespace

const OpDef& Stft::def() {
  static constexpr OpDef def{.name = "Stft",
                             .inputs = {2, 4},
                             .outputs = {1, 1},
                             .plan_operands = 0b1010,
                             .infer = infer,
                             .reference = reference,
                             .scratch = scratch,
                             .kernels = &kernels};
  return def;
}

}  // namespace quern
