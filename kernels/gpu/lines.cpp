// SPDX-License-Identifier: Apache-2.0
// Operators that depend on the positions of elements: Cumulative and ReverseSequence along an axis,
// Trilu and EyeLike by the diagonals of matrices, OneHot by an index.
#include <algorithm>
#include <cstring>

#include "graph/ops/cumulative.h"
#include "graph/ops/fill.h"
#include "graph/ops/one_hot.h"
#include "graph/ops/rearrange.h"
#include "kernels/contract/iterate.h"
#include "kernels/contract/rows.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"

namespace quern::gpu {
namespace {

// True if elements are words.
bool has_words(const TensorType& t) {
  return t.dtype != DType::string && (size_of(t.dtype) == 4 || size_of(t.dtype) == 8) &&
         t.shape.elements() > 0 && t.shape.elements() < (std::int64_t{1} << 30);
}
std::int64_t words_of(const TensorType& t) {
  return static_cast<std::int64_t>(size_of(t.dtype) / 4);
}

// One dispatch; the first push word is the number of invocations; all operands are row-major.
Selection over(const KernelRequest& request, Dispatch d) {
  const std::uint32_t work = d.push[0];
  const std::uint32_t local = lanes(*request.gpu);
  d.constants.insert(d.constants.begin(), local);
  d.groups = linear_groups(work, local, *request.gpu);
  KernelChoice choice;
  choice.implementation = d.shader;
  choice.on_gpu().dispatches.push_back(std::move(d));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace

Selection select_cumulative(const KernelRequest& request) {
  const auto& op = request.as<Cumulative>();
  const Shape& x = request.shape(0);
  const DType type = request.dtype(0);
  const auto axis = constant_ints(request, 1);
  const auto rank = static_cast<std::int64_t>(x.rank());
  const bool integers = type == DType::i32 || type == DType::u32;
  const bool longs = (type == DType::i64 || type == DType::u64) && op.kind == CumulativeKind::sum;
  const bool doubles = type == DType::f64 && request.gpu->float64;
  if ((type != DType::f32 && !integers && !longs && !doubles) || !has_words(request.outputs[0]) ||
      !axis || axis->size() != 1 || (*axis)[0] < -rank || (*axis)[0] >= rank)
    return unsupported();
  const AxisSplit s = split_at(x, positive_axis((*axis)[0], x.rank()));
  if (!can_loop(s.axis, *request.gpu)) return unsupported();
  Dispatch d;
  d.shader = doubles ? "cumulative_doubles" : "cumulative";
  d.constants = {op.kind == CumulativeKind::prod, op.exclusive, op.reverse};
  if (!doubles) d.constants.insert(d.constants.end(), {integers, longs});
  d.push = {word(s.outer * s.inner), word(s.axis), word(s.inner)};
  d.buffers = {BufferUse::input(0), BufferUse::output(0)};
  auto choice = over(request, std::move(d));
  (*choice)->packed_inputs = {false, true};
  return choice;
}

namespace {

enum class Diagonal : std::uint32_t { upper, lower, ones };

// The word of a one that is not zero.
std::uint32_t one_of(DType t) {
  if (t == DType::f64) return 0x3ff00000;
  return t == DType::f32 ? word(1.0F) : 1U;
}

Dispatch diagonal(const TensorType& y, Diagonal mode, std::int64_t k) {
  Dispatch d;
  d.shader = "diagonal";
  d.constants = {static_cast<std::uint32_t>(mode), word(words_of(y)), false};
  const std::int64_t rows = y.shape[y.shape.rank() - 2];
  const std::int64_t far = std::max(rows, y.shape.back()) + 1;
  d.push = {word(y.shape.elements() * words_of(y)), word(rows), word(y.shape.back()),
            word(std::clamp(k, -far, far)), one_of(y.dtype)};
  return d;
}

}  // namespace

Selection select_trilu(const KernelRequest& request) {
  const TensorType& y = request.outputs[0];
  if (!has_words(y)) return unsupported();
  const auto k = request.has(1) ? constant_ints(request, 1) : Ints{0};
  const auto mode = request.as<Trilu>().upper ? Diagonal::upper : Diagonal::lower;
  const bool is_data = !k || k->empty();
  Dispatch d = diagonal(y, mode, is_data ? 0 : k->front());
  d.constants[2] = is_data;
  d.buffers = {BufferUse::input(0), BufferUse::input(is_data ? 1 : 0), BufferUse::output(0)};
  auto choice = over(request, std::move(d));
  (*choice)->packed_inputs = {false, !is_data};
  return choice;
}

Selection select_eye_like(const KernelRequest& request) {
  const TensorType& y = request.outputs[0];
  if (!has_words(y)) return unsupported();
  Dispatch d = diagonal(y, Diagonal::ones, request.as<EyeLike>().k);
  // No element of the input is read.
  d.buffers = {BufferUse::input(0), BufferUse::input(0), BufferUse::output(0)};
  return over(request, std::move(d));
}

Selection select_one_hot(const KernelRequest& request) {
  const TensorType& y = request.outputs[0];
  const Shape& indices = request.shape(0);
  std::uint32_t type = 0;
  if (request.dtype(0) == DType::f32) type = 1;
  if (request.dtype(0) == DType::i32) type = 2;
  if (request.dtype(0) == DType::i64) type = 4;
  if (!type || !has_words(y)) return unsupported();
  const std::size_t axis = positive_axis(request.as<OneHot>().axis, y.shape.rank());
  Dispatch d;
  d.shader = "one_hot";
  d.constants = {type, word(words_of(y))};
  d.push = {word(y.shape.elements() * words_of(y)), word(indices.elements(axis)),
            word(y.shape[axis])};
  d.buffers = {BufferUse::input(0), BufferUse::input(2), BufferUse::output(0)};
  auto choice = over(request, std::move(d));
  (*choice)->packed_inputs = {false, true, false};
  return choice;
}

Selection select_reverse_sequence(const KernelRequest& request) {
  const auto& op = request.as<ReverseSequence>();
  const TensorType& y = request.outputs[0];
  if (!has_words(y)) return unsupported();
  const bool batch_first = op.batch_axis == 0;
  const std::int64_t batches = y.shape[batch_first ? 0 : 1];
  const std::int64_t times = y.shape[batch_first ? 1 : 0];
  Dispatch d;
  d.shader = "reverse_sequence";
  d.constants = {request.dtype(1) == DType::i64 ? 2U : 1U};
  for (std::int64_t v :
       {y.shape.elements() * words_of(y), y.shape.elements(2) * words_of(y), times, batches,
        batch_first ? std::int64_t{1} : batches, batch_first ? times : std::int64_t{1}})
    d.push.push_back(word(v));
  d.buffers = {BufferUse::input(0), BufferUse::input(1), BufferUse::output(0)};
  return over(request, std::move(d));
}

}  // namespace quern::gpu
