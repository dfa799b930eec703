// SPDX-License-Identifier: Apache-2.0
// Attention as two products with a softmax between them, the scores in scratch memory; attention to
// a cache in blocks of keys; and what appends to a cache.
#include "graph/ops/attention.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "kernels/contract/attention_layouts.h"
#include "kernels/contract/iterate.h"
#include "kernels/gpu/caches.h"
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

// ---- CacheAppend: two dispatches, what is kept of the past, and the new rows. A run in place,
// where the result is the past, leaves out the first.

namespace {

// The largest element, in bytes, of which rows and the steps between them are whole multiples.
std::size_t element_for(std::size_t dtype_bytes, std::int64_t width, const Shape& strides) {
  const auto fits = [&](std::size_t bytes) {
    const auto divides = [&](std::int64_t elements) {
      return static_cast<std::size_t>(elements) * dtype_bytes % bytes == 0;
    };
    return divides(width) && divides(strides[0]) && divides(strides[1]) && divides(strides[2]);
  };
  for (const std::size_t bytes : {16, 4, 2})
    if (fits(bytes)) return bytes;
  return 1;
}

// Empty where the device cannot store elements of this size.
std::string_view shader_for(std::size_t element, const GpuTarget& target) {
  switch (element) {
    case 1: return target.storage_8bit ? "cache_append_8" : "";
    case 2: return target.storage_16bit ? "cache_append_16" : "";
    case 4: return "cache_append_32";
    default: return "cache_append_128";
  }
}

struct Append {
  std::string_view shader;
  std::int64_t type_bytes, element_bytes;
  std::int64_t sequences, heads, past, rows, all, width;

  // As many of the tensor's elements, in those of the shader.
  std::int64_t shader_elements(std::int64_t n) const { return n * type_bytes / element_bytes; }
};

enum class Part : std::uint32_t { kept, fresh };

// `strides`: of the source, in the tensor's elements.
Dispatch rows_dispatch(const Append& a, Part part, const Shape& strides, const GpuTarget& target) {
  const std::int64_t count = part == Part::fresh ? a.rows : a.all;
  const std::int64_t run = a.shader_elements(a.width);
  const std::int64_t work = a.sequences * a.heads * count * run;
  Dispatch d;
  d.shader = a.shader;
  d.constants = {lanes(target), static_cast<std::uint32_t>(part)};
  for (const std::int64_t v : {work, run, count, a.heads, a.past, a.rows, a.all})
    d.push.push_back(word(v));
  for (const std::size_t i : {0, 1, 2}) d.push.push_back(word(a.shader_elements(strides[i])));
  d.push.push_back(0);
  d.buffers = {BufferUse::input(part == Part::fresh ? 1 : 0), BufferUse::input(2),
               BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), lanes(target), target);
  return d;
}

// Offsets in the shader's elements are words.
bool is_small(const Shape& shape, std::size_t type_bytes) {
  return shape.elements() <=
         std::numeric_limits<std::int32_t>::max() / static_cast<std::int64_t>(type_bytes);
}

}  // namespace

Selection select_cache_append(const KernelRequest& request) {
  const Shape& past = request.shape(0);
  const Shape& y = request.outputs[0].shape;
  const TensorDesc& given = request.inputs[1].desc;
  const std::size_t bytes = size_of(given.dtype);
  if (given.dtype == DType::string || y.elements() == 0 || given.shape.elements() == 0 ||
      !is_small(y, bytes) || !is_small(past, bytes))
    return unsupported();
  const bool has_rows = !given.layout.block && given.layout.strides[3] == 1;
  const Layout rows = has_rows ? given.layout : Layout::row_major(given.shape);
  const std::size_t element = element_for(bytes, y[3], rows.strides);
  const std::string_view shader = shader_for(element, *request.gpu);
  if (shader.empty()) return unsupported();
  const Append a{.shader = shader,
                 .type_bytes = static_cast<std::int64_t>(bytes),
                 .element_bytes = static_cast<std::int64_t>(element),
                 .sequences = y[0],
                 .heads = y[1],
                 .past = past[2],
                 .rows = given.shape[2],
                 .all = y[2],
                 .width = y[3]};
  KernelChoice choice;
  choice.implementation = shader;
  choice.input_layouts = {Layout::row_major(past), rows};
  choice.input_layouts.resize(request.inputs.size());
  choice.packed_inputs = {false, false, false, true};  // the length is known when planning
  const bool has_past = past.elements() > 0;
  if (has_past || a.all > a.rows) {
    choice.on_gpu().dispatches.push_back(
        rows_dispatch(a, Part::kept, row_major_strides(past), *request.gpu));
    if (!has_past) choice.on_gpu().dispatches[0].buffers[0] = BufferUse::input(1);  // for zeros
  }
  choice.on_gpu().dispatches.push_back(rows_dispatch(a, Part::fresh, rows.strides, *request.gpu));
  if (past == y) choice.updates = {{.output = 0, .input = 0}};
  return std::optional<KernelChoice>(std::move(choice));
}

// ---- CachedAttention. Where a device has more units than there are rows and heads, the keys are
// shared out, and what was found in each part is put together.

namespace {

enum CachedInput : std::uint32_t { in_q, in_k, in_v, in_before, in_bias, in_sink };

// How the work is divided. The names are those of cached_attention.comp.
struct Blocks {
  std::uint32_t lanes = 1, rows = 1, keys = 1, fours = 1, across = 1;
  std::int64_t row_groups = 0, chunks = 0, parts = 1, keys_of_part = 0;
};

struct CachedWork {
  std::int64_t sequences = 0, heads = 0, key_heads = 0, new_rows = 0, keys = 0;
  std::int64_t width = 0, columns = 0;
  std::int64_t rows = 0;  // of a key head

  std::int64_t all_rows() const { return sequences * heads * new_rows; }
  // What a part of the keys gives a row: its columns, the highest score, and the sum.
  std::int64_t record() const { return columns + 2; }
};

CachedWork work_of(const KernelRequest& r) {
  const Shape& q = r.shape(in_q);
  const Shape& v = r.shape(in_v);
  return {q[0], q[1], v[1], q[2], v[2], q[3], v[3], q[1] / v[1] * q[2]};
}

// Iterations of the loops of an invocation that goes through so many keys.
std::int64_t iterations(const CachedWork& w, const Blocks& b, std::int64_t keys) {
  const std::int64_t block = std::int64_t{b.keys} * b.lanes;
  const std::int64_t shares = std::max(b.lanes / b.across, 1U);
  const std::int64_t of_reductions = std::bit_width(b.lanes);
  const std::int64_t of_block =
      (w.width + 3) / 4 + (block + shares - 1) / shares + of_reductions + 2;
  // The analyser takes the quotient for undefined, as if lanes could be 0.
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult)
  return ((keys + block - 1) / block + 1) * of_block +
         std::int64_t{b.rows} * (1 + b.fours) * (of_reductions + 1);
}

// Each part has some blocks at least, and the parts of all rows keep the device's units busy.
void share_keys(const CachedWork& w, const GpuTarget& target, Blocks& b) {
  constexpr std::int64_t least_keys = 256, groups_of_unit = 2;
  const std::int64_t groups = b.row_groups * w.sequences * w.key_heads * b.chunks;
  const std::int64_t wanted =
      target.software ? 1 : (groups_of_unit * target.units + groups - 1) / groups;
  const std::int64_t most = std::max<std::int64_t>(w.keys / least_keys, 1);
  b.parts = std::clamp<std::int64_t>(wanted, 1, most);
  b.keys_of_part = (w.keys + b.parts - 1) / b.parts;
  while (b.keys_of_part > 1 && !can_loop(iterations(w, b, b.keys_of_part), target))
    b.keys_of_part = (b.keys_of_part + 1) / 2;
  b.parts = (w.keys + b.keys_of_part - 1) / b.keys_of_part;
}

// nullopt if the device has too small a grid, or too few iterations.
std::optional<Blocks> blocks_of(const CachedWork& w, const GpuTarget& target) {
  Blocks b;
  b.lanes = std::bit_floor(target.software ? target.subgroup_size
                                           : std::min(target.max_invocations, 128U));
  b.keys = target.software ? 4 : 1;
  b.rows =
      std::min(std::bit_ceil(static_cast<std::uint32_t>(std::min<std::int64_t>(w.rows, 4))), 4U);
  const std::int64_t fours = (w.columns + 3) / 4;
  b.across = 1;
  while (b.across < b.lanes && b.across < fours) b.across *= 2;
  const std::int64_t of_invocation = (fours + b.across - 1) / b.across;
  b.fours = static_cast<std::uint32_t>(std::min<std::int64_t>(of_invocation, 4));
  b.chunks = (of_invocation + b.fours - 1) / b.fours;
  b.row_groups = (w.rows + b.rows - 1) / b.rows;
  share_keys(w, target, b);
  const auto length = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const bool is_in_grid =
      fits({length(b.row_groups), length(w.sequences * w.key_heads), length(b.parts * b.chunks)},
           target);
  const bool ends =
      can_loop(iterations(w, b, b.keys_of_part), target) && can_loop(2 * b.parts, target);
  return is_in_grid && ends ? std::optional(b) : std::nullopt;
}

bool suits_blocks(const KernelRequest& r) {
  const auto is_small = [](const Shape& s) {
    return s.elements() <= std::numeric_limits<std::int32_t>::max();
  };
  const Shape& y = r.outputs[0].shape;
  const DType cache = r.dtype(in_k);
  const bool has_type = cache == DType::f32 || cache == DType::f16 || cache == DType::bf16;
  if (r.dtype(in_q) != DType::f32 || !has_type || y.elements() == 0) return false;
  if (r.shape(in_q).elements() == 0 || r.shape(in_k).elements() == 0) return false;
  for (const std::size_t i : {in_q, in_k, in_v})
    if (!is_small(r.shape(i))) return false;
  return is_small(y) && (!r.has(in_bias) || is_small(r.shape(in_bias)));
}

bool in_fours(const Shape& strides) {
  return strides[0] % 4 == 0 && strides[1] % 4 == 0 && strides[2] % 4 == 0;
}

std::uint32_t cache_type(DType t) {
  return t == DType::f32 ? 0 : t == DType::f16 ? 1 : 2;
}

Dispatch attention_dispatch(const KernelRequest& r, const CachedWork& w, const Blocks& b,
                            const Shape& q_strides, const Shape& y_strides) {
  const auto& op = r.as<CachedAttention>();
  Dispatch d;
  d.shader = "cached_attention";
  d.constants = {b.lanes,
                 b.rows,
                 b.keys,
                 b.fours,
                 b.across,
                 cache_type(r.dtype(in_k)),
                 w.width % 4 == 0 && in_fours(q_strides),
                 w.columns % 4 == 0,
                 r.has(in_bias),
                 r.has(in_sink),
                 op.softcap > 0,
                 b.parts > 1};
  const std::int64_t window = std::min<std::int64_t>(op.window, w.keys + w.new_rows);
  for (const std::int64_t v : {w.rows, w.new_rows, w.key_heads, w.keys, w.width, w.columns, window,
                               b.chunks, b.parts, b.keys_of_part})
    d.push.push_back(word(v));
  d.push.insert(d.push.end(), {word(op.scale), word(op.softcap)});
  for (const Shape& strides : {q_strides, y_strides})
    for (const std::size_t i : {0, 1, 2}) d.push.push_back(word(strides[i]));
  const Shape scores{w.sequences, w.heads, w.new_rows, w.keys};
  const Shape bias =
      r.has(in_bias) ? broadcast_strides(r.shape(in_bias), scores) : Shape::filled(4, 0);
  for (const std::size_t i : {0, 1, 2, 3}) d.push.push_back(word(bias[i]));
  d.buffers = {BufferUse::input(in_q),
               BufferUse::input(in_k),
               BufferUse::input(in_v),
               BufferUse::input(in_before),
               BufferUse::input(r.has(in_bias) ? in_bias : in_q),
               BufferUse::input(r.has(in_sink) ? in_sink : in_q),
               BufferUse::output(0)};
  d.groups = {word(b.row_groups), word(w.sequences * w.key_heads), word(b.parts * b.chunks)};
  d.operations = 2.0 * static_cast<double>(w.all_rows()) * static_cast<double>(w.keys) *
                 static_cast<double>(w.width * b.chunks + w.columns);
  return d;
}

Dispatch sum_dispatch(const KernelRequest& r, const CachedWork& w, const Blocks& b,
                      const BufferUse& parts, const Shape& y_strides) {
  Dispatch d;
  d.shader = "cached_attention_sum";
  d.constants = {lanes(*r.gpu), r.has(in_sink)};
  const std::int64_t work = w.all_rows() * w.columns;
  for (const std::int64_t v : {work, w.columns, b.parts, w.new_rows, w.heads})
    d.push.push_back(word(v));
  for (const std::size_t i : {0, 1, 2}) d.push.push_back(word(y_strides[i]));
  d.buffers = {parts, r.has(in_sink) ? BufferUse::input(in_sink) : parts, BufferUse::output(0)};
  d.groups = linear_groups(static_cast<std::uint64_t>(work), lanes(*r.gpu), *r.gpu);
  return d;
}

}  // namespace

Selection select_cached_attention(const KernelRequest& request) {
  if (!suits_blocks(request)) return unsupported();
  const CachedWork w = work_of(request);
  const std::optional<Blocks> b = blocks_of(w, *request.gpu);
  if (!b) return unsupported();
  KernelChoice choice;
  choice.implementation = "blocks";
  choice.input_layouts = {layout_of(request.inputs[in_q].desc, Lines::rows),
                          Layout::row_major(request.shape(in_k)),
                          Layout::row_major(request.shape(in_v))};
  choice.input_layouts.resize(request.inputs.size());
  choice.output_layouts = {ordered_like(request.outputs[0].shape, choice.input_layouts[0])};
  const Shape& y_strides = choice.output_layouts[0].strides;
  choice.on_gpu().dispatches.push_back(
      attention_dispatch(request, w, *b, choice.input_layouts[0].strides, y_strides));
  if (b->parts == 1) return std::optional<KernelChoice>(std::move(choice));
  const std::int64_t floats = w.all_rows() * b->parts * w.record();
  const std::uint64_t bytes = static_cast<std::uint64_t>(floats) * sizeof(float);
  if (floats > std::numeric_limits<std::int32_t>::max() || bytes > request.gpu->max_range)
    return unsupported();
  choice.scratch_bytes = bytes;
  choice.on_gpu().dispatches[0].buffers.back() = BufferUse::scratch(0, bytes, BufferAccess::write);
  choice.on_gpu().dispatches.push_back(
      sum_dispatch(request, w, *b, BufferUse::scratch(0, bytes, BufferAccess::read), y_strides));
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern::gpu
