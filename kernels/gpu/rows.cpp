// SPDX-License-Identifier: Apache-2.0
// Operators on rows of contiguous elements, with one workgroup per row: Softmax, Reduce, ArgReduce,
// LayerNorm, GroupNorm, LpNorm and TopK. Dimensions that are not innermost are moved there by the
// requested layout.
#include "kernels/gpu/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/lp_norm.h"
#include "graph/ops/reduce.h"
#include "graph/ops/softmax.h"
#include "kernels/contract/constant_operands.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/types.h"

namespace quern::gpu {
namespace {

// The layout with the dimensions of `mask` innermost and the others before them, each in order.
Layout rows_of(const Shape& shape, std::uint32_t mask) {
  std::vector<std::int64_t> order;
  for (std::uint32_t in_row : {0U, 1U})
    for (std::size_t d = 0; d < shape.rank(); ++d)
      if ((mask >> d & 1) == in_row) order.push_back(static_cast<std::int64_t>(d));
  return Layout::permuted(shape, order);
}

std::int64_t row_length(const Shape& shape, std::uint32_t mask) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d < shape.rank(); ++d)
    if (mask >> d & 1) n *= shape[d];
  return n;
}

// The shaders reduce indices as floats.
constexpr std::int64_t exact_floats = 1 << 24;

// Rows that are too long for a workgroup stay on the CPU, as do empty rows.
bool can_walk(const KernelRequest& request, const Shape& x) {
  return x.elements() > 0 && x.elements() < (std::int64_t{1} << 31) &&
         can_loop(4 * (x.elements() / request.gpu->max_invocations + 8), *request.gpu);
}

bool suits_rows(const KernelRequest& request, const Shape& x) {
  return request.dtype(0) == DType::f32 && can_walk(request, x);
}

// True for integers, bool and f64 if the device supports them.
bool suits_exact(const KernelRequest& request, const Shape& x) {
  const DType type = request.dtype(0);
  const bool suits =
      type == DType::f64 ? request.gpu->float64 : type == DType::boolean || is_number_integer(type);
  return suits && request.gpu->int64 && can_walk(request, x);
}

// Codes of reduce.comp that follow those of ReduceKind.
constexpr std::uint32_t arg_max = 10, arg_min = 11;

bool takes_integers(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::max:
    case ReduceKind::min:
    case ReduceKind::prod:
    case ReduceKind::l1:
    case ReduceKind::sum_square: return true;
    default: return false;
  }
}

// Selects which of equal elements a search finds.
enum class Tie : std::uint32_t { first, last };

// nullopt if an invocation would have too much to do.
std::optional<Dispatch> reduction(const KernelRequest& request, const Rows& rows,
                                  std::uint32_t kind, Tie tie) {
  const DType type = request.dtype(0);
  const bool floats = type == DType::f32;
  // Rows whose results share a word have one workgroup; an exponential is a loop.
  const auto in_a_word = static_cast<std::int64_t>(
      floats || kind >= arg_max ? 1 : 4 / std::min<std::size_t>(size_of(type), 4));
  const Rows words = {
      ceil_div_word(static_cast<std::uint64_t>(rows.count), static_cast<std::uint64_t>(in_a_word)),
      rows.length};
  const std::string_view exact = type == DType::f64 ? "reduce_doubles" : "reduce_integers";
  Dispatch d = row_dispatch(floats ? "reduce" : exact, words, *request.gpu);
  const bool has_loops =
      type == DType::f64 && kind == static_cast<std::uint32_t>(ReduceKind::log_sum_exp);
  const std::int64_t steps = has_loops ? 20 : in_a_word;
  if (!can_loop(steps * (rows.length / d.constants[0] + 8), *request.gpu)) return std::nullopt;
  d.push[0] = word(rows.count);
  d.constants.insert(d.constants.end(), {kind, static_cast<std::uint32_t>(tie)});
  if (!floats) d.constants.push_back(type_code(type));
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  return d;
}

Selection answer(std::string_view implementation, Dispatch d, const Layout& in, const Layout& out,
                 const KernelRequest& request) {
  KernelChoice choice;
  choice.implementation = implementation;
  choice.input_layouts.resize(request.inputs.size());
  choice.input_layouts[0] = in;
  choice.output_layouts = {out};
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

// Dimensions from `axis` on.
std::uint32_t from_axis(std::size_t axis, const Shape& shape) {
  return ((1U << shape.rank()) - 1) & ~((1U << axis) - 1);
}

}  // namespace

Dispatch row_dispatch(std::string_view shader, const Rows& rows, const GpuTarget& target) {
  std::uint32_t most = target.software ? std::bit_floor(target.subgroup_size)
                                       : std::min(std::bit_floor(target.max_invocations), 256U);
  // The shaders walk over a row at most four times.
  while (!can_loop(4 * (rows.length / most + 8), target) && 2 * most <= target.max_invocations)
    most *= 2;
  const auto useful =
      std::bit_ceil(static_cast<std::uint32_t>(std::min<std::int64_t>(rows.length, 256)));
  Dispatch d;
  d.shader = shader;
  d.constants = {std::clamp(useful, std::min(most, 32U), most)};
  d.push = {word(rows.count), word(rows.length)};
  d.groups = linear_groups(static_cast<std::uint64_t>(rows.count), 1, target);
  return d;
}

Selection select_softmax(const KernelRequest& request) {
  const auto& op = request.as<Softmax>();
  const Shape& x = request.shape(0);
  if (!suits_rows(request, x) || x.empty()) return unsupported();
  const std::size_t axis = positive_axis(op.axis, x.rank());
  const std::uint32_t mask = op.flatten ? from_axis(axis, x) : 1U << axis;
  const std::int64_t length = row_length(x, mask);
  if (op.kind == SoftmaxKind::hardmax && length >= exact_floats) return unsupported();
  const Layout layout = rows_of(x, mask);
  Dispatch d = row_dispatch("softmax", {x.elements() / length, length}, *request.gpu);
  d.constants.push_back(static_cast<std::uint32_t>(op.kind));
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  return answer("rows", std::move(d), layout, layout, request);
}

namespace {

// A reduction over nothing, as a number that saturates at the ends of its type.
double of_nothing(ReduceKind kind) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case ReduceKind::mean: return std::numeric_limits<double>::quiet_NaN();
    case ReduceKind::prod: return 1;
    case ReduceKind::min: return infinity;
    case ReduceKind::max:
    case ReduceKind::log_sum:
    case ReduceKind::log_sum_exp: return -infinity;
    default: return 0;
  }
}

// One element of it, copied to all of the result.
Selection reduce_nothing(const KernelRequest& request) {
  const ReduceKind kind = request.as<Reduce>().kind;
  const TensorType& y = request.outputs[0];
  const Layout out = Layout::row_major(y.shape);
  auto d = copy_dispatch(y.dtype, y.shape, {Shape::filled(y.shape.rank(), 0)}, {out.strides},
                         *request.gpu);
  if (!d || (!is_number(y.dtype) && y.dtype != DType::boolean)) return unsupported();
  d->buffers = {BufferUse::constant(0), BufferUse::output(0)};
  auto choice = answer("nothing", std::move(*d), request.inputs[0].desc.layout, out, request);
  (*choice)->packed_inputs.assign(request.inputs.size(), true);
  (*choice)->on_gpu().constants.push_back(
      {cat("gpu-nothing|", static_cast<int>(kind), "|", name_of(y.dtype)), size_of(y.dtype),
       [kind, t = y.dtype](std::byte* to) -> Status {
         if (t == DType::boolean) *to = std::byte{kind == ReduceKind::min};
         visit_number(t, [&]<class T>(TypeTag<T>) {
           const auto v = static_cast<T>(
               convert<std::conditional_t<is_float_type<T>, double, T>>(of_nothing(kind)));
           std::memcpy(to, &v, sizeof v);
         });
         return {};
       }});
  return choice;
}

}  // namespace

Selection select_reduce(const KernelRequest& request) {
  const ReduceKind kind = request.as<Reduce>().kind;
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if (x.elements() == 0) return reduce_nothing(request);
  const bool is_float = is_number_float(request.dtype(0));
  const bool can =
      suits_rows(request, x) || ((is_float || takes_integers(kind)) && suits_exact(request, x));
  if (!can || x.empty()) return unsupported();
  const auto mask = folded_axes(request);
  if (!mask) return unsupported();
  // Without axes each element is a row.
  const std::int64_t length = row_length(x, *mask);
  auto d = reduction(request, {x.elements() / length, length}, static_cast<std::uint32_t>(kind),
                     Tie::first);
  if (!d) return unsupported();
  auto choice = answer("rows", std::move(*d), rows_of(x, *mask), Layout::row_major(y), request);
  (*choice)->packed_inputs.assign(request.inputs.size(), true);  // the axes are known when planning
  (*choice)->packed_inputs[0] = false;
  return choice;
}

Selection select_arg_reduce(const KernelRequest& request) {
  const auto& op = request.as<ArgReduce>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  if ((!suits_rows(request, x) && !suits_exact(request, x)) || x.empty()) return unsupported();
  const std::size_t axis = positive_axis(op.axis, x.rank());
  if (x[axis] >= exact_floats) return unsupported();
  auto d = reduction(request, {x.elements() / x[axis], x[axis]}, op.is_max ? arg_max : arg_min,
                     op.select_last_index ? Tie::last : Tie::first);
  if (!d) return unsupported();
  return answer("rows", std::move(*d), rows_of(x, 1U << axis), Layout::row_major(y), request);
}

// Each of the k results takes one search over the row, so that k times the loop iterations of a row
// must be possible.
Selection select_top_k(const KernelRequest& request) {
  const auto& op = request.as<TopK>();
  const Shape& x = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  const DType type = request.dtype(0);
  if ((type != DType::f32 && type != DType::i32) || x.elements() == 0 || y.elements() == 0 ||
      x.elements() >= (std::int64_t{1} << 31))
    return unsupported();
  const std::size_t axis = positive_axis(op.axis, x.rank());
  const std::int64_t k = y[axis];
  Dispatch d = row_dispatch("top_k", {x.elements() / x[axis], x[axis]}, *request.gpu);
  const auto fits = [&] {
    const std::int64_t lanes = d.constants[0];
    return can_loop(k * (x[axis] / lanes + 3 + std::bit_width(d.constants[0])), *request.gpu);
  };
  while (!fits() && 2 * d.constants[0] <= request.gpu->max_invocations) d.constants[0] *= 2;
  if (!fits()) return unsupported();
  d.constants.insert(d.constants.end(),
                     {op.largest, type == DType::i32, request.wants(0), request.wants(1)});
  d.push.push_back(word(k));
  d.operations = 4.0 * static_cast<double>(k) * static_cast<double>(x.elements());
  d.buffers = {BufferUse::input(0), BufferUse::output(request.wants(0) ? 0 : 1),
               BufferUse::output(request.wants(1) ? 1 : 0)};
  auto choice =
      answer("rows", std::move(d), rows_of(x, 1U << axis), rows_of(y, 1U << axis), request);
  (*choice)->output_layouts.resize(request.outputs.size(), rows_of(y, 1U << axis));
  (*choice)->packed_inputs = {false, true};
  return choice;
}

namespace {

// The parameters of norm.comp: the scale's index for each element, and whether the mean is
// subtracted.
struct NormScale {
  std::int64_t groups = 1, group_size = 0, inner = 1, size = 1;
  bool center = true;
};

Selection norm(const KernelRequest& request, const Rows& rows, const NormScale& scale,
               float epsilon) {
  const Shape& x = request.shape(0);
  Dispatch d = row_dispatch("norm", rows, *request.gpu);
  d.constants.insert(d.constants.end(), {scale.center, request.has(1), request.has(2),
                                         request.wants(1), request.wants(2)});
  for (std::int64_t v : {scale.groups, scale.group_size, scale.inner, scale.size})
    d.push.push_back(word(v));
  d.push.push_back(word(epsilon));
  // If only the statistics of the rows are wanted, the rows go to scratch memory.
  const auto bytes = static_cast<std::uint64_t>(x.elements()) * sizeof(float);
  const BufferUse y =
      request.wants(0) ? BufferUse::output(0) : BufferUse::scratch(0, bytes, BufferAccess::write);
  d.buffers = {BufferUse::input(0),
               y,
               BufferUse::input(request.has(1) ? 1 : 0),
               BufferUse::input(request.has(2) ? 2 : 0),
               request.wants(1) ? BufferUse::output(1) : y,
               request.wants(2) ? BufferUse::output(2) : y};
  auto choice = answer("rows", std::move(d), Layout::row_major(x), Layout::row_major(x), request);
  if (!request.wants(0)) (*choice)->scratch_bytes = bytes;
  return choice;
}

}  // namespace

Selection select_layer_norm(const KernelRequest& request) {
  const auto& op = request.as<LayerNorm>();
  const Shape& x = request.shape(0);
  if (!suits_rows(request, x) || !request.wants(0)) return unsupported();
  const std::size_t axis = positive_axis(op.axis, x.rank());
  const std::int64_t length = x.elements(axis);
  NormScale scale{.center = op.center};
  for (std::size_t i : {1U, 2U}) {
    if (!request.has(i)) continue;
    // One parameter per element of the row; otherwise they would broadcast.
    if (request.dtype(i) != DType::f32 || request.shape(i).elements() != length)
      return unsupported();
    scale.size = length;
  }
  return norm(request, {x.elements() / length, length}, scale, op.epsilon);
}

Selection select_group_norm(const KernelRequest& request) {
  const auto& op = request.as<GroupNorm>();
  const Shape& x = request.shape(0);
  if (!suits_rows(request, x) || request.dtype(1) != DType::f32 || request.dtype(2) != DType::f32)
    return unsupported();
  const std::int64_t groups = op.groups ? op.groups : x[1];
  const std::int64_t channels = x[1] / groups;
  const std::int64_t inner = x.elements(2);
  return norm(request, {x[0] * groups, channels * inner}, {groups, channels, inner, channels},
              op.epsilon);
}

Selection select_lp_norm(const KernelRequest& request) {
  const auto& op = request.as<LpNorm>();
  const Shape& x = request.shape(0);
  if (!suits_rows(request, x) || x.empty()) return unsupported();
  const std::size_t axis = positive_axis(op.axis, x.rank());
  const Layout layout = rows_of(x, 1U << axis);
  Dispatch d = row_dispatch("lp_norm", {x.elements() / x[axis], x[axis]}, *request.gpu);
  d.constants.push_back(op.p == 2);
  d.push.push_back(word(op.epsilon));
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  return answer("rows", std::move(d), layout, layout, request);
}

}  // namespace quern::gpu
