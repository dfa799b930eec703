// SPDX-License-Identifier: Apache-2.0
// Attention in f32, head by head: keys and values of a head are packed once, then blocks of rows go
// through two matrix products with the softmax between them, while the scores stay in the cache. For
// a few rows (a token of a decoder) packing would cost more than it gives: there the keys are read as
// they lie. Operands may lie in any order, so that splitting into heads moves nothing.
#include "kernels/attention_rows.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include "kernels/iterate.h"
#include "kernels/rows.h"
#include "kernels/simd/simd.h"

namespace quern {
namespace {

constexpr float lowest = -std::numeric_limits<float>::infinity();

enum class MaskType : std::uint8_t { none, f32, boolean };

// Strides in elements. Heads are [leading..., heads of k, heads of q for each].
struct Geometry {
  Shape heads;
  std::array<Shape, 5> strides;  // over `heads`: q, k, v, mask, y
  std::int64_t rows, keys, width, value_width;
  std::int64_t q_row, k_key, k_width, v_key, v_width, y_row, mask_row, mask_key;
  MaskType mask = MaskType::none;
  float scale = 1;

  std::int64_t panel_keys() const { return gemm_packed_size(1, keys); }
  bool packs() const { return rows >= 4 || k_width != 1 || v_width != 1; }
};

// Rows at once: their scores and a panel of the keys share the second-level cache.
constexpr std::int64_t block_rows = 48;

struct HeadPointers {
  const float *q, *k, *v;
  const void* mask;
  float* y;
};

class AttentionRows final : public CpuKernel {
 public:
  explicit AttentionRows(const Geometry& g) : g_(g) {}

  static std::int64_t scratch_floats(const Geometry& g) {
    if (!g.packs()) return g.panel_keys();
    return gemm_packed_size(g.width, g.keys) + gemm_packed_size(g.keys, g.value_width) +
           std::min(block_rows, g.rows) * g.panel_keys();
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    std::atomic<std::int64_t> parts{0};
    const std::int64_t work = 2 * g_.rows * g_.keys * (g_.width + g_.value_width);
    parallel(g_.heads.elements(), std::max<std::int64_t>(1, 400'000 / std::max<std::int64_t>(work, 1)),
             [&](std::int64_t begin, std::int64_t end) {
               auto* scratch = reinterpret_cast<float*>(args.scratch) + parts++ * scratch_floats(g_);
               for_each_offset(g_.heads, g_.strides, begin, end, [&](const auto& at) {
                 const HeadPointers head{f32(args.inputs[0]) + at[0], f32(args.inputs[1]) + at[1],
                                         f32(args.inputs[2]) + at[2], mask(args, at[3]),
                                         reinterpret_cast<float*>(args.outputs[0]) + at[4]};
                 g_.packs() ? attend_by_products(head, scratch) : attend_by_rows(head, scratch);
               });
             });
    return {};
  }

 private:
  static const float* f32(const std::byte* p) { return reinterpret_cast<const float*>(p); }
  const void* mask(const KernelArgs& args, std::int64_t at) const {
    if (g_.mask == MaskType::none) return nullptr;
    return args.inputs[3] + at * (g_.mask == MaskType::f32 ? 4 : 1);
  }

  void attend_by_products(const HeadPointers& head, float* scratch) const {
    const Simd& s = simd();
    float* keys = scratch;
    float* values = keys + gemm_packed_size(g_.width, g_.keys);
    float* scores = values + gemm_packed_size(g_.keys, g_.value_width);
    pack_gemm(head.k, g_.k_width, g_.k_key, g_.width, g_.keys, keys);
    pack_gemm(head.v, g_.v_key, g_.v_width, g_.keys, g_.value_width, values);
    const std::int64_t stride = g_.panel_keys();
    for (std::int64_t r = 0; r < g_.rows; r += block_rows) {
      const std::int64_t rows = std::min(block_rows, g_.rows - r);
      s.gemm({rows, g_.keys, g_.width, g_.q_row, stride, false}, head.q + r * g_.q_row, keys, scores);
      for (std::int64_t i = 0; i < rows; ++i) softmax(head.mask, r + i, scores + i * stride);
      s.gemm({rows, g_.value_width, g_.keys, stride, g_.y_row, false}, scores, values,
             head.y + r * g_.y_row);
    }
  }

  void attend_by_rows(const HeadPointers& head, float* scores) const {
    const Simd& s = simd();
    for (std::int64_t r = 0; r < g_.rows; ++r) {
      for (std::int64_t j = 0; j < g_.keys; ++j)
        scores[j] = s.dot(head.q + r * g_.q_row, head.k + j * g_.k_key, g_.width);
      softmax(head.mask, r, scores);
      float* y = head.y + r * g_.y_row;
      std::fill_n(y, g_.value_width, 0.0f);
      for (std::int64_t j = 0; j < g_.keys; ++j)
        s.axpy(scores[j], head.v + j * g_.v_key, y, g_.value_width);
    }
  }

  // A row that the mask leaves no key of becomes zero.
  void softmax(const void* mask, std::int64_t row, float* scores) const {
    const Simd& s = simd();
    s.binary(BinaryKind::mul, {scores, false}, {&g_.scale, true}, scores, g_.keys);
    const bool any = add_mask(mask, row, scores);
    if (!any) return void(std::fill_n(scores, g_.keys, 0.0f));
    const float factor = 1 / s.exp_sum(scores, s.max(scores, g_.keys), scores, g_.keys);
    s.binary(BinaryKind::mul, {scores, false}, {&factor, true}, scores, g_.keys);
  }

  // False when the mask leaves no key.
  bool add_mask(const void* mask, std::int64_t row, float* scores) const {
    if (!mask || g_.keys == 0) return true;
    if (g_.mask == MaskType::boolean) {
      const bool* m = static_cast<const bool*>(mask) + row * g_.mask_row;
      bool any = false;
      for (std::int64_t j = 0; j < g_.keys; ++j) {
        any |= m[j * g_.mask_key];
        if (!m[j * g_.mask_key]) scores[j] += lowest;
      }
      return any;
    }
    const float* m = static_cast<const float*>(mask) + row * g_.mask_row;
    simd().binary(BinaryKind::add, {scores, false}, {m, g_.mask_key == 0}, scores, g_.keys);
    return g_.mask_key == 0 ? *m != lowest : simd().max(m, g_.keys) != lowest;
  }

  Geometry g_;
};

// ---- choosing ----------------------------------------------------------------------------------

Shape first(const Shape& s, std::size_t n) {
  return Shape(s.dims().first(n));
}

// The strides of an operand over `heads`; the last dimension of those may share a head of it.
Shape head_strides(const Shape& shape, const Shape& strides, const Shape& heads, bool is_shared) {
  const std::size_t outer = shape.rank() - 3;
  Shape s = broadcast_strides(first(shape, outer), first(strides, outer), first(heads, outer));
  const std::int64_t step = shape[outer] == 1 ? 0 : strides[outer];
  s.push_back(is_shared ? step : step * heads.back());
  s.push_back(is_shared ? 0 : step);
  return s;
}

Geometry geometry(const KernelRequest& r, std::span<const Layout> layouts, const Layout& y_layout) {
  const auto& op = r.as<Attention>();
  const Shape& q = r.shape(0);
  const Shape& y = r.outputs[0].shape;
  const std::size_t outer = q.rank() - 3;
  const std::int64_t k_heads = r.shape(1)[outer];
  Geometry g;
  g.heads = first(y, outer);
  g.heads.push_back(k_heads);
  g.heads.push_back(q[outer] / k_heads);
  g.rows = q[outer + 1];
  g.width = q[outer + 2];
  g.keys = r.shape(2)[outer + 1];
  g.value_width = y[outer + 2];
  g.scale = op.scale;
  const auto strides = [&](std::size_t i) -> const Shape& { return layouts[i].strides; };
  g.q_row = strides(0)[outer + 1];
  g.k_key = strides(1)[outer + (op.k_transposed ? 2 : 1)];
  g.k_width = strides(1)[outer + (op.k_transposed ? 1 : 2)];
  g.v_key = strides(2)[outer + 1];
  g.v_width = strides(2)[outer + 2];
  g.y_row = y_layout.strides[outer + 1];
  g.strides = {head_strides(q, strides(0), g.heads, false),
               head_strides(r.shape(1), strides(1), g.heads, true),
               head_strides(r.shape(2), strides(2), g.heads, true),
               Shape::filled(g.heads.rank(), 0),
               head_strides(y, y_layout.strides, g.heads, false)};
  if (!r.has(3)) return g;
  g.mask = r.dtype(3) == DType::f32 ? MaskType::f32 : MaskType::boolean;
  Shape scores = y;
  scores[outer + 2] = g.keys;
  const Shape mask = broadcast_strides(r.shape(3), scores);
  g.mask_row = mask[outer + 1];
  g.mask_key = mask[outer + 2];
  g.strides[3] = first(mask, outer);
  g.strides[3].push_back(mask[outer] * g.heads.back());
  g.strides[3].push_back(mask[outer]);
  return g;
}

bool suits(const KernelRequest& r) {
  for (std::size_t i = 0; i < 3; ++i)
    if (r.dtype(i) != DType::f32 || r.shape(i).elements() == 0) return false;
  if (r.has(3) && r.dtype(3) != DType::f32 && r.dtype(3) != DType::boolean) return false;
  return r.shape(0).rank() < Shape::max_rank && r.outputs[0].shape.elements() > 0;
}

}  // namespace

Selection select_attention_rows(const KernelRequest& r) {
  if (!suits(r)) return not_for_me();
  KernelChoice choice;
  choice.implementation = std::string("rows ") + simd().name;
  for (std::size_t i = 0; i < 3; ++i) {
    const TensorDesc& desc = r.inputs[i].desc;
    const bool rows = i > 0 || desc.shape.back() == 1 || desc.layout.strides.back() == 1;
    choice.input_layouts.push_back(!desc.layout.block && rows ? desc.layout
                                                              : Layout::row_major(desc.shape));
  }
  const Shape& y = r.outputs[0].shape;
  const TensorDesc q{DType::f32, r.shape(0), choice.input_layouts[0]};
  // Heads lie between the rows where those of q do: joining them again moves nothing then.
  Layout y_layout = is_dense(q) ? Layout::like(q, y) : Layout::row_major(y);
  if (y_layout.strides.back() != 1) y_layout = Layout::row_major(y);
  choice.output_layouts = {y_layout};
  const Geometry g = geometry(r, choice.input_layouts, y_layout);
  choice.scratch_bytes = static_cast<std::size_t>(AttentionRows::scratch_floats(g) *
                                                  std::min<std::int64_t>(r.target.threads, g.heads.elements())) *
                         sizeof(float);
  choice.kernel = std::make_unique<AttentionRows>(g);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
