// SPDX-License-Identifier: Apache-2.0
// Bf16Parts: f32 as the sum of two numbers of bf16, three of them a number along an axis.
//
// Made by graph/passes/narrow.cpp; no ONNX operator. Only numbers that bf16 cannot hold lose more
// than 16 bits: what would round to infinity is cut instead, and of infinities and NaN the low part
// is 0.
#include <cmath>

#include "graph/numeric.h"
#include "graph/ops/cast.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/kernel.h"
#include "kernels/cpu/bf16_parts_rows.h"

namespace quern {
namespace {

struct Parts {
  BFloat16 high, low;
};

Parts parts_of(float x) {
  constexpr float largest = 0x1.FEp127F;  // of bf16
  BFloat16 high(x);
  if (std::isinf(static_cast<float>(high)) && std::isfinite(x))
    high = BFloat16(std::copysign(largest, x));
  const float rest = x - static_cast<float>(high);
  return {high, BFloat16(std::isfinite(x) ? rest : 0.0F)};
}

Status bf16_parts_reference(const ReferenceCall& call) {
  const auto& op = *call.op.as<Bf16Parts>();
  const Shape& shape = call.inputs[0].type.shape;
  const auto axis = static_cast<std::size_t>(
      op.axis < 0 ? op.axis + static_cast<std::int64_t>(shape.rank()) : op.axis);
  const std::int64_t row = shape.elements(axis);
  const auto* x = call.inputs[0].as<float>();
  auto* y = call.outputs[0].as<BFloat16>();
  StopCheck check(call.stop);
  for_each_until(shape.elements(), 1, check, [&](std::int64_t i) {
    const Parts p = parts_of(x[i]);
    BFloat16* const to = y + i / row * 3 * row + i % row;
    to[0] = p.high;
    to[row] = op.factor == Bf16Factor::left ? p.high : p.low;
    to[2 * row] = op.factor == Bf16Factor::left ? p.low : p.high;
  });
  return {};
}

constexpr CpuImplementation implementations[] = {{"rows", select_bf16_parts_rows}};

}  // namespace

const OpKernels& Bf16Parts::kernels() {
  static constexpr OpKernels table{.reference = {bf16_parts_reference}, .cpu = implementations};
  return table;
}

}  // namespace quern
