// SPDX-License-Identifier: Apache-2.0
// Fourier transforms and related operators.
#include <numbers>

#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/random.h"
#include "graph/ops/unary_kind.h"

namespace quern::onnx {
namespace {

Dft dft_op(NodeImport& n) {
  return {.inverse = n.flag("inverse", Flag::off), .onesided = n.flag("onesided", Flag::off)};
}

// The axis became an input at opset 20.
void import_dft_17(NodeImport& n) {
  const ValueId axis = n.scalar(DType::i64, static_cast<double>(n.integer("axis", 1)));
  n.emit(dft_op(n), {n.in(0), n.in(1), axis});
}

void import_dft(NodeImport& n) {
  n.emit(dft_op(n), {n.inputs().begin(), n.inputs().end()});
}

void import_stft(NodeImport& n) {
  n.emit(Stft{.onesided = n.flag("onesided", Flag::on)}, {n.inputs().begin(), n.inputs().end()});
}

void import_mel_weight_matrix(NodeImport& n) {
  n.emit(MelWeightMatrix{.dtype = n.dtype_attribute("output_datatype", DType::f32)},
         {n.inputs().begin(), n.inputs().end()});
}

// a0 - a1 cos(angle) + a2 cos(2 angle), angle = 2 pi i / size, or / (size - 1) when symmetric.
// Computed in f64, so that the ends are as close to zero as they should be.
void cosine_window(NodeImport& n, double a0, double a1, double a2) {
  const DType dtype = n.dtype_attribute("output_datatype", DType::f32);
  const bool periodic = n.flag("periodic", Flag::on);
  const ValueId size = reshape(n, cast(n, n.in(0), DType::i64), Ints{});
  const ValueId position = cast(n, counting(n, size), DType::f64);
  const ValueId period = add(n, cast(n, size, DType::f64), periodic ? 0 : -1);
  const ValueId angle = div(n, mul(n, position, 2 * std::numbers::pi), period);
  ValueId y = sub(n, n.scalar(DType::f64, a0), mul(n, unary(n, UnaryKind::cos, angle), a1));
  if (a2 != 0) y = add(n, y, mul(n, unary(n, UnaryKind::cos, mul(n, angle, 2)), a2));
  n.set(0, cast(n, y, dtype));
}

void import_hann(NodeImport& n) {
  cosine_window(n, 0.5, 0.5, 0);
}
void import_hamming(NodeImport& n) {
  cosine_window(n, 25.0 / 46, 21.0 / 46, 0);
}
void import_blackman(NodeImport& n) {
  cosine_window(n, 0.42, 0.5, 0.08);
}

constexpr OpRow spectral_rows[] = {
    {"BlackmanWindow", 17, import_blackman},
    {"DFT", 17, import_dft_17, {1, 2}},
    {"DFT", 20, import_dft, {1, 3}},
    {"HammingWindow", 17, import_hamming},
    {"HannWindow", 17, import_hann},
    {"MelWeightMatrix", 17, import_mel_weight_matrix, {5, 5}},
    {"STFT", 17, import_stft, {2, 4}},
};

}  // namespace

OpRows spectral_ops() {
  return spectral_rows;
}

}  // namespace quern::onnx
