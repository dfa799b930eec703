// SPDX-License-Identifier: Apache-2.0
// MelWeightMatrix: (num_mel_bins, dft_length, sample_rate, lower_edge, upper_edge in Hz) -> the
// matrix [dft_length / 2 + 1, num_mel_bins] of triangles, evenly spaced on the mel scale 2595
// log10(1 + f / 700), by which a spectrum is multiplied.
//
// ONNX MelWeightMatrix, opset 17. Corners of triangles are whole bins of the spectrum; what lies
// outside of the spectrum falls away. Computed in double.
#include <algorithm>
#include <cmath>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/operands.h"
#include "graph/ops/random.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {

// ---- reference

double mel_of(double hertz) {
  return 2595 * std::log10(1 + hertz / 700);
}
double hertz_of(double mel) {
  return 700 * (std::pow(10, mel / 2595) - 1);
}

struct Triangles {
  explicit Triangles(const ReferenceCall& call)
      : length(static_cast<double>(int_element(call.inputs[1], 0))),
        sample_rate(static_cast<double>(int_element(call.inputs[2], 0))),
        lowest(mel_of(float_element(call.inputs[3], 0))),
        step((mel_of(float_element(call.inputs[4], 0)) - lowest) /
             static_cast<double>(int_element(call.inputs[0], 0) + 2)) {}

  // The bin of the spectrum at the i-th corner; saturates outside of any spectrum.
  std::int64_t corner(std::int64_t i) const {
    const double bin =
        (length + 1) * hertz_of(lowest + static_cast<double>(i) * step) / sample_rate;
    return convert<std::int64_t>(std::clamp(std::floor(bin), -0x1p40, 0x1p40));
  }
  // The weight of bin j in the triangle with these corners.
  static double weight(std::int64_t j, std::int64_t left, std::int64_t peak, std::int64_t right) {
    if (j == peak) return 1;
    if (j >= left && j < peak)
      return static_cast<double>(j - left) / static_cast<double>(peak - left);
    if (j > peak && j < right)
      return static_cast<double>(right - j) / static_cast<double>(right - peak);
    return 0;
  }

  double length, sample_rate, lowest, step;
};

Status mel_weight_matrix_reference(const ReferenceCall& call) {
  const Shape& ys = call.outputs[0].type.shape;
  if (ys.elements() == 0) return {};
  const Triangles triangles(call);
  if (triangles.sample_rate <= 0)
    return {Code::invalid_argument, cat("sample_rate is ", triangles.sample_rate)};
  visit_number(call.outputs[0].type.dtype, [&]<class T>(TypeTag<T>) {
    StopCheck check(call.stop);
    for (std::int64_t i = 0; i < ys[1] && !check.spend(64); ++i) {
      const std::int64_t left = triangles.corner(i);
      const std::int64_t peak = triangles.corner(i + 1);
      const std::int64_t right = triangles.corner(i + 2);
      T* y = call.outputs[0].as<T>() + i;
      for_each_until(ys[0], 4, check, [&](std::int64_t j) {
        y[j * ys[1]] = convert<T>(Triangles::weight(j, left, peak, right));
      });
    }
  });
  return {};
}

}  // namespace

const OpKernels& MelWeightMatrix::kernels() {
  static constexpr OpKernels table{.reference = {mel_weight_matrix_reference}};
  return table;
}

}  // namespace quern
