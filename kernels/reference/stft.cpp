// SPDX-License-Identifier: Apache-2.0
// Stft: the Fourier transforms of windowed pieces of (signal [batch, length] or [batch, length, 1
// or 2], frame_step, window?, frame_length?): y[b, f, :] of signal[b, f * step + i] * window[i].
//
// ONNX STFT, opset 17. The frame is as long as told, else as the window, else as the signal. A
// window shorter than the frame leaves its end at 0. Only whole frames count. Computed in double.
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

template <class T>
void load_frame(const ReferenceCall& call, std::int64_t batch, std::int64_t begin,
                FourierTransform& f) {
  const Shape& xs = call.inputs[0].type.shape;
  const std::int64_t parts = xs.rank() == 3 ? xs[2] : 1;
  const T* x = call.inputs[0].as<T>() + (batch * xs[1] + begin) * parts;
  const T* window = call.has(2) ? call.inputs[2].as<T>() : nullptr;
  const std::int64_t windowed =
      window ? std::min(call.inputs[2].type.shape[0], f.length()) : f.length();
  for_each_until(f.length(), 4, f.check(), [&](std::int64_t i) {
    f.input()[i] = {};
    if (i >= windowed) return;
    const double weight = window ? static_cast<double>(window[i]) : 1;
    f.input()[i].re = weight * static_cast<double>(x[i * parts]);
    if (parts == 2) f.input()[i].im = weight * static_cast<double>(x[i * parts + 1]);
  });
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
      if (f.check().is_over()) return;
      for_each_until(ys[2], 4, f.check(), [&](std::int64_t k) {
        *y++ = T(f.output()[k].re);
        *y++ = T(f.output()[k].im);
      });
    }
}

Status stft_reference(const ReferenceCall& call) {
  if (call.outputs[0].type.shape.elements() == 0) return {};
  const std::int64_t frame = call.has(3)   ? int_element(call.inputs[3], 0)
                             : call.has(2) ? call.inputs[2].type.shape[0]
                                           : call.inputs[0].type.shape[1];
  FourierTransform f(frame, call.scratch, call.stop);
  visit_float(call.inputs[0].type.dtype,
              [&]<class T>(TypeTag<T>) { transform_frames<T>(call, f); });
  return {};
}

std::size_t stft_scratch(const Op&, std::span<const TensorType>,
                         std::span<const TensorType> outputs) {
  if (outputs[0].shape.elements() == 0) return 0;
  return FourierTransform::scratch_bytes(2 * outputs[0].shape[2]);
}

}  // namespace

const OpKernels& Stft::kernels() {
  static constexpr OpKernels table{.reference = {stft_reference, stft_scratch},
                                   .gpu = gpu::select_stft};
  return table;
}

}  // namespace quern
