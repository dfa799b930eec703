// SPDX-License-Identifier: Apache-2.0
// Unary, Binary, Where and Cast: a chain of functions over one tensor of floats (elementwise.comp),
// or one function with operands that broadcast in any way and of any type (broadcast.comp).
#include <algorithm>
#include <array>

#include "graph/numeric.h"
#include "graph/ops/binary.h"
#include "graph/ops/unary.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/steps.h"

namespace quern::gpu {
namespace {

// The type code of broadcast.comp; 0 if it lacks the type.
std::uint32_t type_code(DType t) {
  switch (t) {
    case DType::f32: return 1;
    case DType::i32: return 2;
    case DType::boolean:
    case DType::u8: return 3;
    case DType::i64: return 4;
    case DType::f16: return 5;
    case DType::u32: return 6;
    case DType::u64: return 7;
    default: return 0;
  }
}

// True for the functions that broadcast.comp supports for integers.
bool takes_integers(std::uint32_t code) {
  constexpr std::array codes = {1U,  2U,  3U,  25U, 40U, 45U, 64U,        65U,
                                66U, 67U, 69U, 70U, 71U, 72U, 74U,        75U,
                                76U, 80U, 81U, 82U, 83U, 84U, where_code, copy_code};
  return std::ranges::find(codes, code) != codes.end();
}

bool is_full(const KernelRequest& r, std::size_t i) {
  return r.has(i) && r.shape(i) == r.outputs[0].shape && is_dense(r.inputs[i].desc) &&
         !r.inputs[i].desc.layout.block;
}

// Applies the chain `steps` to input `main`; the result has its layout.
Selection chain(const KernelRequest& request, std::uint32_t main, Steps steps) {
  const Layout& layout = request.inputs[main].desc.layout;
  KernelChoice choice;
  choice.post_ops_taken = steps.add_post_ops(request);
  Dispatch d;
  d.shader = "elementwise";
  const std::uint32_t local = lanes(*request.gpu);
  const auto vectors = ceil_div_word(static_cast<std::uint64_t>(request.shape(main).elements()), 4);
  d.constants = {local};
  d.push = {vectors};
  d.buffers = {BufferUse::input(main), BufferUse::output(0)};
  d.groups = linear_groups(vectors, local, *request.gpu);
  steps.finish(d);
  choice.implementation = "elementwise";
  choice.input_layouts.resize(request.inputs.size());
  steps.ask_layouts(choice.input_layouts);
  choice.input_layouts[main] = layout;
  choice.output_layouts = {layout};
  choice.sharing = {{0, main, Alias::may}};
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

StepTarget step_target(const KernelRequest& request, std::uint32_t main) {
  return {request.outputs[0].shape, request.inputs[main].desc.layout, true};
}

bool has_work(const KernelRequest& request) {
  const std::int64_t n = request.outputs[0].shape.elements();
  return n > 0 && n < (std::int64_t{1} << 31);
}

// The layout of the first operand with the size of the result, so that it need not be reordered.
Layout result_layout(const KernelRequest& request, std::size_t operands) {
  for (std::size_t i = 0; i < operands; ++i)
    if (is_full(request, i) && !request.inputs[i].constant) return request.inputs[i].desc.layout;
  return Layout::row_major(request.outputs[0].shape);
}

// Appends a bound of a Clip of integers: as one of the type, in two words.
void append_bound(std::vector<std::uint32_t>& push, double bound, DType t) {
  const auto v = t == DType::u8    ? std::int64_t{convert<std::uint8_t>(bound)}
                 : t == DType::i32 ? std::int64_t{convert<std::int32_t>(bound)}
                                   : convert<std::int64_t>(bound);
  const auto bits = static_cast<std::uint64_t>(v);
  push.insert(push.end(),
              {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)});
}

// A dispatch of one function of the first `operands` inputs; alpha and beta are those of a Unary.
Selection general(const KernelRequest& request, std::uint32_t code, std::size_t operands,
                  double alpha = 0, double beta = 0) {
  const TensorType& out = request.outputs[0];
  const Layout layout = result_layout(request, operands);
  std::array<std::uint32_t, 4> types{};
  std::array<Shape, 3> strides;
  strides.fill(Shape::filled(out.shape.rank(), 0));
  KernelChoice choice;
  choice.input_layouts.resize(request.inputs.size());
  bool integers = false;
  for (std::size_t i = 0; i <= operands; ++i) {
    const DType t = i < operands ? request.dtype(i) : out.dtype;
    std::uint32_t& type = types[i < operands ? i : 3];
    type = type_code(t);
    integers = integers || t == DType::i32 || t == DType::i64 || t == DType::u8;
    if (!type) return unsupported();
    if (i == operands) break;
    const Shape& shape = request.shape(i);
    choice.input_layouts[i] = is_full(request, i) ? layout : Layout::row_major(shape);
    strides[i] = broadcast_strides(shape, choice.input_layouts[i].strides, out.shape);
  }
  const auto has = [&](std::uint32_t type) {
    return std::ranges::find(types, type) != types.end();
  };
  // A power of floats takes exponents of any type, as floats; nothing else takes unsigned words.
  const bool powers = code == *code_of(BinaryKind::pow) && out.dtype == DType::f32;
  if (powers) integers = false;
  if (!powers && (has(6) || has(7))) return unsupported();
  const bool halves = has(5);
  if (integers && (halves || !request.gpu->int64 || !takes_integers(code))) return unsupported();
  const auto loop =
      make_loop(out.shape, std::array{strides[0], strides[1], strides[2], layout.strides},
                memory_order(out.shape, layout.strides));
  if (!loop) return unsupported();
  Dispatch d;
  d.shader = integers ? "broadcast_integers" : "broadcast";
  const std::uint32_t local = lanes(*request.gpu);
  d.constants = {local, code, types[0], types[1], types[2], types[3]};
  d.push = {word(loop->elements())};
  append(d.push, loop->dims, 1);
  for (std::size_t k = 0; k < 3; ++k) append(d.push, loop->strides[k], 0);
  if (integers) {
    append_bound(d.push, alpha, out.dtype);
    append_bound(d.push, beta, out.dtype);
  } else {
    d.push.insert(d.push.end(), {word(static_cast<float>(alpha)), word(static_cast<float>(beta))});
  }
  for (std::uint32_t k = 0; k < 3; ++k) d.buffers.push_back(BufferUse::input(k < operands ? k : 0));
  d.buffers.push_back(BufferUse::output(0));
  d.groups = linear_groups(ceil_div_word(static_cast<std::uint64_t>(loop->elements()), 4), local,
                           *request.gpu);
  choice.implementation = d.shader;
  choice.output_layouts = {layout};
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace

Selection select_unary(const KernelRequest& request) {
  const auto& op = request.as<Unary>();
  if (!has_work(request)) return unsupported();
  const bool floats = request.dtype(0) == DType::f32 && request.outputs[0].dtype == DType::f32;
  if (floats && is_full(request, 0)) {
    Steps steps(step_target(request, 0), StepSet::all);
    if (steps.add(op)) return chain(request, 0, std::move(steps));
  }
  const auto code = code_of(op.kind);
  if (!code) return unsupported();
  return general(request, *code, 1, op.alpha, op.beta);
}

Selection select_binary(const KernelRequest& request) {
  const auto& op = request.as<Binary>();
  if (!has_work(request)) return unsupported();
  const auto floats = [&](std::size_t i) { return request.dtype(i) == DType::f32; };
  if (floats(0) && floats(1) && request.outputs[0].dtype == DType::f32) {
    for (std::uint32_t main : {0U, 1U}) {
      const std::uint32_t other = 1 - main;
      if (!is_full(request, main) || request.inputs[main].constant) continue;
      Steps steps(step_target(request, main), StepSet::all);
      if (steps.add({.kind = op.kind, .read = other, .swapped = main == 1}, request.inputs[other]))
        return chain(request, main, std::move(steps));
    }
  }
  const auto code = code_of(op.kind);
  return code ? general(request, *code, 2) : unsupported();
}

Selection select_where(const KernelRequest& request) {
  return has_work(request) ? general(request, where_code, 3) : unsupported();
}

Selection select_cast(const KernelRequest& request) {
  if (!has_work(request)) return unsupported();
  const DType from = request.dtype(0);
  const DType to = request.outputs[0].dtype;
  if (from == DType::f16 && to != DType::f32) return unsupported();
  // A cast to bool tests for nonzero, which "or nothing" does for integers; the shader for floats
  // stores bytes like that anyway.
  const bool to_bool = to == DType::boolean && from != DType::f32 && from != DType::boolean;
  if (to_bool) return general(request, *code_of(BinaryKind::logical_or), 1);
  return general(request, copy_code, 1);
}

}  // namespace quern::gpu
