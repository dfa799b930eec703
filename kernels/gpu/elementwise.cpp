// SPDX-License-Identifier: Apache-2.0
// Unary, Binary, Where and Cast: a chain of functions over one tensor of floats (elementwise.comp),
// or one function with operands that broadcast in any way and of any type (broadcast.comp).
#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string_view>

#include "graph/numeric.h"
#include "graph/ops/binary.h"
#include "graph/ops/cast.h"
#include "graph/ops/unary.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/broadcast.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/steps.h"
#include "kernels/gpu/types.h"

namespace quern::gpu {
namespace {

// The variants of broadcast.comp, by the type that they compute in.
struct Variant {
  std::string_view shader;
  std::span<const std::uint32_t> codes;  // of the functions that it has; empty: all
  bool needs_float64 = false;
};
constexpr std::array integer_codes = {
    1U,  2U,  3U,  8U,  25U, 40U, 45U, 46U, 64U, 65U, 66U, 67U, 68U, 69U, 70U,        71U,      72U,
    73U, 74U, 75U, 76U, 77U, 78U, 79U, 80U, 81U, 82U, 83U, 84U, 85U, 86U, where_code, copy_code};
constexpr std::array double_codes = {1U,  2U,  3U,  4U,  5U,  6U,         7U,       8U,  9U,  10U,
                                     11U, 12U, 25U, 26U, 38U, 40U,        41U,      43U, 44U, 64U,
                                     65U, 66U, 67U, 68U, 69U, 70U,        71U,      72U, 73U, 75U,
                                     80U, 81U, 82U, 83U, 84U, where_code, copy_code};
constexpr Variant floats{"broadcast", {}};
constexpr Variant integers{"broadcast_integers", integer_codes};
constexpr Variant doubles{"broadcast_doubles", double_codes, true};

// One function of the first `operands` inputs; alpha and beta are those of a Unary, or what a Cast
// says of floats of a byte.
struct Function {
  std::uint32_t code;
  std::size_t operands;
  double alpha = 0, beta = 0;
};

// The element types of the operands, and of the result, as the shader reads them. Where() moves
// bits, so that those of a type that is not computed with are integers.
std::array<DType, 4> types_of(const KernelRequest& request, const Function& f) {
  std::array<DType, 4> types{};
  const auto moved = [](DType t) {
    if (t == DType::f32 || t == DType::string || is_number_integer(t)) return t;
    switch (size_of(t)) {
      case 1: return DType::u8;
      case 2: return DType::u16;
      case 4: return DType::u32;
      default: return DType::u64;
    }
  };
  for (std::size_t i = 0; i <= f.operands; ++i) {
    const bool is_result = i == f.operands;
    const DType t = is_result ? request.outputs[0].dtype : request.dtype(i);
    types[is_result ? 3 : i] = f.code == where_code && i > 0 ? moved(t) : t;
  }
  return types;
}

// nullptr if no variant has the function for these types, or the device lacks what it needs.
const Variant* variant_of(const KernelRequest& request, const Function& f,
                          const std::array<DType, 4>& types) {
  const auto used = [&](const auto& is) {
    return is(types[3]) || std::any_of(types.begin(), types.begin() + f.operands, is);
  };
  if (used([](DType t) { return type_code(t) == 0; })) return nullptr;
  const bool has_double = used([](DType t) { return t == DType::f64; });
  // A power of floats takes exponents of any type, as floats.
  const bool is_power = f.code == *code_of(BinaryKind::pow);
  const bool is_float_power = is_power && is_number_float(types[3]) && !has_double;
  const Variant* variant = &floats;
  if (has_double)
    variant = &doubles;
  else if (used(is_integer) && !is_float_power)
    variant = &integers;
  if (variant == &floats) return variant;
  if (used(is_small_float)) return nullptr;
  // Of integers and floats there are casts, and powers of f64.
  if (is_power && types[3] != DType::f64 && used(is_number_float)) return nullptr;
  const bool has_function = std::ranges::find(variant->codes, f.code) != variant->codes.end();
  const bool suits = request.gpu->int64 && (!variant->needs_float64 || request.gpu->float64);
  return has_function && suits ? variant : nullptr;
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

// Appends alpha or beta as the variant computes with it: as a float, or as an integer of the type
// or a double, in two words.
void append_parameter(std::vector<std::uint32_t>& push, double v, const Variant& variant, DType t) {
  if (&variant == &floats) return push.push_back(word(static_cast<float>(v)));
  auto bits = std::bit_cast<std::uint64_t>(v);
  if (&variant == &integers)
    visit_number(t, [&]<class T>(TypeTag<T>) {
      if constexpr (is_integer_type<T>) bits = static_cast<std::uint64_t>(convert<T>(v));
    });
  push.insert(push.end(),
              {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)});
}

Selection general(const KernelRequest& request, const Function& f) {
  const TensorType& out = request.outputs[0];
  const std::array<DType, 4> types = types_of(request, f);
  const Variant* variant = variant_of(request, f, types);
  if (!variant) return unsupported();
  const Layout layout = result_layout(request, f.operands);
  std::array<Shape, 3> strides;
  strides.fill(Shape::filled(out.shape.rank(), 0));
  KernelChoice choice;
  choice.input_layouts.resize(request.inputs.size());
  for (std::size_t i = 0; i < f.operands; ++i) {
    const Shape& shape = request.shape(i);
    choice.input_layouts[i] = is_full(request, i) ? layout : Layout::row_major(shape);
    strides[i] = broadcast_strides(shape, choice.input_layouts[i].strides, out.shape);
  }
  const auto loop =
      make_loop(out.shape, std::array{strides[0], strides[1], strides[2], layout.strides},
                memory_order(out.shape, layout.strides));
  if (!loop) return unsupported();
  Broadcast work{variant->shader, f.code, f.operands, types, {}};
  append_parameter(work.parameters, f.alpha, *variant, out.dtype);
  append_parameter(work.parameters, f.beta, *variant, out.dtype);
  Dispatch d = broadcast_dispatch(work, *loop, *request.gpu);
  choice.implementation = d.shader;
  choice.output_layouts = {layout};
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace

Dispatch broadcast_dispatch(const Broadcast& work, const Loop& loop, const GpuTarget& target) {
  Dispatch d;
  d.shader = work.shader;
  const std::uint32_t local = lanes(target);
  d.constants = {local, work.code};
  for (std::size_t i = 0; i < work.types.size(); ++i)
    d.constants.push_back(i < work.operands || i == 3 ? type_code(work.types[i]) : 0);
  d.push = {word(loop.elements())};
  append(d.push, loop.dims, 1);
  for (std::size_t k = 0; k < 3; ++k) append(d.push, loop.strides[k], 0);
  d.push.insert(d.push.end(), work.parameters.begin(), work.parameters.end());
  for (std::uint32_t k = 0; k < 3; ++k)
    d.buffers.push_back(BufferUse::input(k < work.operands ? k : 0));
  d.buffers.push_back(BufferUse::output(0));
  d.groups =
      linear_groups(ceil_div_word(static_cast<std::uint64_t>(loop.elements()), 4), local, target);
  return d;
}

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
  return general(request, {*code, 1, op.alpha, op.beta});
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
  return code ? general(request, {*code, 2}) : unsupported();
}

Selection select_where(const KernelRequest& request) {
  return has_work(request) ? general(request, {where_code, 3}) : unsupported();
}

Selection select_cast(const KernelRequest& request) {
  if (!has_work(request)) return unsupported();
  const auto& op = request.as<Cast>();
  const DType from = request.dtype(0);
  // A cast to bool tests for nonzero, which "or nothing" does for integers and f64; the shader for
  // floats stores bytes like that anyway.
  const bool to_bool =
      request.outputs[0].dtype == DType::boolean && (is_integer(from) || from == DType::f64);
  return general(request, {.code = to_bool ? *code_of(BinaryKind::logical_or) : copy_code,
                           .operands = 1,
                           .alpha = op.saturate ? 1.0 : 0.0,
                           .beta = static_cast<double>(op.rounding)});
}

}  // namespace quern::gpu
