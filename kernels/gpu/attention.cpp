// SPDX-License-Identifier: Apache-2.0
// Attention as two products with a softmax between them, the scores in scratch memory.
#include "graph/ops/attention.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/vocabulary/multiples.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/copy.h"
#include "kernels/gpu/grid.h"
#include "kernels/gpu/kernels.h"
#include "kernels/gpu/matmul.h"
#include "kernels/gpu/rows.h"

namespace quern::gpu {
namespace {

// One batch dimension for leading dimensions and heads. Query heads that share a key head become
// additional rows of it.
struct Sizes {
  std::int64_t heads = 0;  // of k and v
  std::int64_t rows = 0;   // of all queries of a head
  std::int64_t keys = 0;
  std::int64_t width = 0;   // of a query and a key
  std::int64_t values = 0;  // of a value
};

// nullopt for shapes that do not form such a batch.
std::optional<Sizes> sizes_of(const Shape& q, const Shape& k, const Shape& v) {
  const std::size_t rank = q.rank();
  if (k[rank - 3] == 0) return std::nullopt;
  const Sizes s{.heads = k.elements(0, rank - 2),
                .rows = q[rank - 3] / k[rank - 3] * q[rank - 2],
                .keys = v[rank - 2],
                .width = q[rank - 1],
                .values = v[rank - 1]};
  const bool is_batch = v.elements(0, rank - 2) == s.heads && k[rank - 3] == v[rank - 3] &&
                        q.elements(0, rank - 3) == k.elements(0, rank - 3);
  return is_batch ? std::optional(s) : std::nullopt;
}

// Adds the mask to the steps of the scores. A mask whose broadcasting steps cannot read is first
// expanded into scratch memory after the scores. False if that is not possible either.
bool add_mask(const KernelRequest& request, const Shape& scores, std::uint64_t scores_bytes,
              Steps& weigh, KernelChoice& choice) {
  if (weigh.add_sum(3, request.inputs[3])) return true;
  if (request.dtype(3) != DType::f32) return false;
  const std::uint64_t at = round_up(scores_bytes, 256);
  auto mask = copy_dispatch(DType::f32, scores, {broadcast_strides(request.shape(3), scores)},
                            {Layout::row_major(scores).strides}, *request.gpu);
  if (!mask) return false;
  choice.input_layouts[3] = Layout::row_major(request.shape(3));
  choice.scratch_bytes = at + scores_bytes;
  mask->buffers = {BufferUse::input(3), BufferUse::scratch(at, scores_bytes, BufferAccess::write)};
  choice.on_gpu().dispatches.push_back(std::move(*mask));
  (void)weigh.add_flat(BufferUse::scratch(at, scores_bytes, BufferAccess::read));
  return true;
}

// Adds the dispatches for scores, softmax, and the weighted sum of values. False if a product is
// too large for a dispatch.
bool add_products(const KernelRequest& request, const Sizes& s, std::uint64_t scores_bytes,
                  const Steps& weigh, KernelChoice& choice) {
  const auto read = BufferUse::scratch(0, scores_bytes, BufferAccess::read);
  const auto written = BufferUse::scratch(0, scores_bytes, BufferAccess::write);
  const Product qk{.rows = s.rows,
                   .columns = s.keys,
                   .depth = s.width,
                   .a_row = s.width,
                   .w_row = s.keys,
                   .batch = {s.heads, 1},
                   .a_batch = {s.rows * s.width, 0},
                   .w_batch = {s.width * s.keys, 0},
                   .may_round = request.half_products};
  const Product pv{.rows = s.rows,
                   .columns = s.values,
                   .depth = s.keys,
                   .a_row = s.keys,
                   .w_row = s.values,
                   .batch = {s.heads, 1},
                   .a_batch = {s.rows * s.keys, 0},
                   .w_batch = {s.keys * s.values, 0},
                   .may_round = request.half_products};
  const Shape& y = request.outputs[0].shape;
  const Steps none({y, choice.output_layouts[0], s.values % 4 == 0}, StepSet::few);
  auto first =
      product_dispatch(qk, BufferUse::input(0), BufferUse::input(1), written, weigh, *request.gpu);
  auto last =
      product_dispatch(pv, read, BufferUse::input(2), BufferUse::output(0), none, *request.gpu);
  if (!first || !last) return false;
  Dispatch softmax = row_dispatch("softmax", {s.heads * s.rows, s.keys}, *request.gpu);
  softmax.constants.insert(softmax.constants.end(), {0, 1});  // a row without keys gives zeros
  softmax.buffers = {read, written};
  choice.on_gpu().dispatches.push_back(std::move(*first));
  choice.on_gpu().dispatches.push_back(std::move(softmax));
  choice.on_gpu().dispatches.push_back(std::move(*last));
  return true;
}

}  // namespace

Selection select_attention(const KernelRequest& request) {
  const auto& op = request.as<Attention>();
  const Shape& q = request.shape(0);
  const Shape& k = request.shape(1);
  const Shape& v = request.shape(2);
  const Shape& y = request.outputs[0].shape;
  if (request.dtype(0) != DType::f32 || y.elements() == 0 || q.elements() == 0 ||
      v[v.rank() - 2] == 0)
    return unsupported();
  const std::optional<Sizes> sizes = sizes_of(q, k, v);
  if (!sizes) return unsupported();
  Shape scores = q;
  scores[q.rank() - 1] = sizes->keys;
  if (scores.elements() >= (std::int64_t{1} << 31)) return unsupported();
  const std::uint64_t scores_bytes = static_cast<std::uint64_t>(scores.elements()) * sizeof(float);

  KernelChoice choice;
  choice.implementation = "products";
  choice.input_layouts = {Layout::row_major(q),
                          op.k_transposed ? Layout::row_major(k) : columns_first(k),
                          Layout::row_major(v)};
  choice.input_layouts.resize(request.inputs.size());
  choice.output_layouts = {Layout::row_major(y)};
  choice.scratch_bytes = scores_bytes;
  const Layout scores_layout = Layout::row_major(scores);
  Steps weigh({scores, scores_layout, sizes->keys % 4 == 0}, StepSet::few);
  if (op.scale != 1) (void)weigh.add_factor(op.scale);
  if (request.has(3) && !add_mask(request, scores, scores_bytes, weigh, choice))
    return unsupported();
  weigh.ask_layouts(choice.input_layouts);
  if (!add_products(request, *sizes, scores_bytes, weigh, choice)) return unsupported();
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
