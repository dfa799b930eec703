// SPDX-License-Identifier: Apache-2.0
// Attention as two products with a softmax between them, the scores in scratch memory.
#include <algorithm>
#include <array>

#include "graph/ops/elementwise.h"
#include "graph/ops/matrix.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/matmul.h"
#include "kernels/gpu/rows.h"

namespace quern::gpu {
Selection select_attention(const KernelRequest& request) {
  const auto& op = request.as<Attention>();
  const Shape& q = request.shape(0);
  const Shape& k = request.shape(1);
  const Shape& v = request.shape(2);
  const Shape& y = request.outputs[0].shape;
  const std::size_t rank = q.rank();
  const std::int64_t keys = v[rank - 2];
  const std::int64_t rows = q[rank - 2];
  if (request.dtype(0) != DType::f32 || y.elements() == 0 || q.elements() == 0 || keys == 0)
    return not_for_me();
  // One batch, leading dimensions and heads together.
  const std::int64_t heads = k.elements(0, rank - 2);
  if (v.elements(0, rank - 2) != heads || q.elements(0, rank - 3) != k.elements(0, rank - 3) ||
      k[rank - 3] != v[rank - 3])
    return not_for_me();
  // Heads that share a key head are more rows of it.
  const std::int64_t shared = q[rank - 3] / k[rank - 3];
  Shape scores = q;
  scores[rank - 1] = keys;
  const Layout scores_layout = Layout::row_major(scores);
  const std::uint64_t scores_bytes = static_cast<std::uint64_t>(scores.elements()) * sizeof(float);
  if (scores.elements() >= (std::int64_t{1} << 31)) return not_for_me();

  KernelChoice choice;
  choice.input_layouts = {Layout::row_major(q),
                          op.k_transposed ? Layout::row_major(k) : columns_first(k),
                          Layout::row_major(v)};
  choice.output_layouts = {Layout::row_major(y)};
  Steps weigh({scores, scores_layout, keys % 4 == 0}, StepSet::few);
  if (op.scale != 1) (void)weigh.add(Unary{UnaryKind::affine, op.scale, 0});
  choice.scratch_bytes = scores_bytes;
  choice.input_layouts.resize(request.inputs.size());
  if (request.has(3) && !weigh.add({.kind = BinaryKind::add, .operand = 3}, request.inputs[3])) {
    // A mask that broadcasts otherwise than steps can read it is written out first.
    if (request.dtype(3) != DType::f32) return not_for_me();
    const std::uint64_t at = (scores_bytes + 255) / 256 * 256;
    auto mask = copy_dispatch(DType::f32, scores, {broadcast_strides(request.shape(3), scores)},
                              {scores_layout.strides}, *request.gpu);
    if (!mask) return not_for_me();
    choice.input_layouts[3] = Layout::row_major(request.shape(3));
    choice.scratch_bytes = at + scores_bytes;
    mask->buffers = {BufferUse::input(3),
                     BufferUse::scratch(at, scores_bytes, BufferAccess::write)};
    choice.gpu.dispatches.push_back(std::move(*mask));
    (void)weigh.add_flat(BufferUse::scratch(at, scores_bytes, BufferAccess::read));
  }
  weigh.ask_layouts(choice.input_layouts);

  const std::int64_t width = q[rank - 1];
  const std::int64_t values = v[rank - 1];
  const Product qk{.rows = shared * rows,
                   .columns = keys,
                   .depth = width,
                   .a_row = width,
                   .w_row = keys,
                   .batch = {heads, 1},
                   .a_batch = {shared * rows * width, 0},
                   .w_batch = {width * keys, 0},
                   .may_round = request.half_products};
  const Product pv{.rows = shared * rows,
                   .columns = values,
                   .depth = keys,
                   .a_row = keys,
                   .w_row = values,
                   .batch = {heads, 1},
                   .a_batch = {shared * rows * keys, 0},
                   .w_batch = {keys * values, 0},
                   .may_round = request.half_products};
  const Steps none({y, choice.output_layouts[0], values % 4 == 0}, StepSet::few);
  auto first = product_dispatch(qk, BufferUse::input(0), BufferUse::input(1),
                                BufferUse::scratch(0, scores_bytes, BufferAccess::write), weigh,
                                *request.gpu);
  auto last = product_dispatch(pv, BufferUse::scratch(0, scores_bytes, BufferAccess::read),
                               BufferUse::input(2), BufferUse::output(0), none, *request.gpu);
  if (!first || !last) return not_for_me();
  Dispatch softmax = row_dispatch("softmax", {heads * shared * rows, keys}, *request.gpu);
  softmax.constants.insert(softmax.constants.end(), {0, 1});  // a row without keys gives zeros
  softmax.buffers = {BufferUse::scratch(0, scores_bytes, BufferAccess::read),
                     BufferUse::scratch(0, scores_bytes, BufferAccess::write)};
  choice.implementation = "products";
  choice.gpu.dispatches.push_back(std::move(*first));
  choice.gpu.dispatches.push_back(std::move(softmax));
  choice.gpu.dispatches.push_back(std::move(*last));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
