// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/constant_operands.h"

#include <cstring>

#include "graph/numeric.h"
#include "graph/ops/reduce.h"
#include "graph/ops/resampling.h"
#include "kernels/contract/rows.h"

namespace quern {

Result<Tensor> widened_constant(const ConstantSource& source) {
  QUERN_ASSIGN(Tensor t, source.get());
  if (t.dtype() != DType::f16 && t.dtype() != DType::bf16) return t;
  QUERN_ASSIGN(Tensor wide, Tensor::zeros({DType::f32, t.shape()}));
  auto* to = reinterpret_cast<float*>(wide.mutable_data());
  const auto n = static_cast<std::size_t>(t.shape().elements());
  for (std::size_t i = 0; i < n; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, t.data() + 2 * i, 2);
    to[i] = t.dtype() == DType::f16 ? half_to_float(bits) : bfloat16_to_float(bits);
  }
  return wide;
}

std::optional<Pads> constant_pads(const KernelRequest& r) {
  const std::size_t rank = r.shape(0).rank();
  const auto list = constant_ints(r, 1);
  const auto axes = constant_ints(r, 3);
  if (!list || (r.has(3) && !axes)) return std::nullopt;
  Pads pads{Shape::filled(rank, 0), Shape::filled(rank, 0)};
  const std::size_t n = list->size() / 2;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t axis = axes ? positive_axis((*axes)[i], rank) : i;
    pads.begin[axis] = (*list)[i];
    pads.end[axis] = (*list)[n + i];
  }
  return pads;
}

namespace {

// The operands' values; nullopt if one is not constant.
std::optional<std::array<Tensor, 3>> constant_operands(const KernelRequest& r) {
  std::array<Tensor, 3> operands;
  for (std::size_t i = 1; i <= 3; ++i) {
    if (!r.has(i)) continue;
    if (!r.inputs[i].constant) return std::nullopt;
    auto t = r.inputs[i].constant->get();
    if (!t) return std::nullopt;
    operands[i - 1] = *t;
  }
  return operands;
}

}  // namespace

std::optional<ResizeAxes> constant_resize_axes(const KernelRequest& r) {
  const auto operands = constant_operands(r);
  if (!operands) return std::nullopt;
  const auto view = [&](std::size_t i) {
    return (*operands)[i].valid() ? (*operands)[i].view() : TensorView{};
  };
  ResizeAxes axes;
  const ResizeOperands views{view(0), view(1), view(2)};
  if (!resolve_resize(r.as<Resize>(), r.shape(0), views, axes).ok()) return std::nullopt;
  return axes;
}

std::optional<std::uint32_t> folded_axes(const KernelRequest& r) {
  const auto& op = r.as<Reduce>();
  const std::size_t rank = r.shape(0).rank();
  Ints axes;
  if (r.has(1)) {
    auto given = constant_ints(r, 1);
    if (!given) return std::nullopt;
    axes = std::move(*given);
  }
  std::uint32_t mask = axes.empty() && !op.noop_with_empty_axes ? (1u << rank) - 1 : 0;
  for (std::int64_t a : axes) mask |= 1u << positive_axis(a, rank);
  return mask;
}

}  // namespace quern
