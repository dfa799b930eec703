// SPDX-License-Identifier: Apache-2.0
// Attention in f32, head by head: computes the scores of a few rows at a time, so that they stay in
// the cache, their softmax, and their product with the values. q, k and v are read in place by
// strides, so that heads need no transposition; y has the layout of q.
#include "kernels/cpu/attention_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/vocabulary/multiples.h"
#include "graph/ops/attention.h"
#include "kernels/contract/attention_layouts.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {
namespace {

constexpr std::int64_t query_rows = 48;
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

struct AttentionProblem {
  float scale = 1;
  std::int64_t heads, group, rows, keys, width, value_width;
  Shape leading;
  std::array<Shape, 5> strides;  // over `leading`: of q, k, v, mask, y
  Heads q, k, v, mask, y;        // k as [keys, width]
  bool has_mask = false;
  bool is_bool_mask = false;

  // Keys are contiguous: the matrices need no copy for the product with q.
  bool k_is_turned() const { return k.row == 1 && k.column != 1; }
  bool turns_k() const { return !k_is_turned() && rows >= 8; }
};

// The pointers of one head.
struct Head {
  const float *q, *k, *v;
  const std::byte* mask;  // null: none
  float* y;
};

class AttentionRows final : public CpuKernel {
 public:
  AttentionRows(const AttentionProblem& p, int threads)
      : p_(p),
        heads_(p.leading.elements() * p.heads),
        tasks_(std::clamp<std::int64_t>(heads_ * p.rows * p.keys * p.width / cut_size(200000), 1,
                                        std::min<std::int64_t>(threads, heads_))) {}

  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(tasks_ * task_floats()) * sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    parallel(tasks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t t = begin; t < end; ++t)
        run_heads(args, heads_ * t / tasks_, heads_ * (t + 1) / tasks_,
                  reinterpret_cast<float*>(args.scratch) + t * task_floats());
    });
    return {};
  }

 private:
  // Scores, scaled rows of q, and k transposed.
  std::int64_t block() const { return std::min(query_rows, p_.rows); }
  std::int64_t task_floats() const {
    const std::int64_t n = block() * (p_.keys + p_.width) + (p_.turns_k() ? p_.keys * p_.width : 0);
    return round_up(n, 16);
  }

  void run_heads(const KernelArgs& args, std::int64_t begin, std::int64_t end,
                 float* scratch) const {
    const std::int64_t first = begin / p_.heads;
    const std::int64_t last = ceil_div(end, p_.heads);
    std::int64_t h = begin;
    for_each_offset(p_.leading, p_.strides, first, last, [&](const auto& at) {
      for (; h < end; ++h) {
        run_head(args, head_at(args, at, h % p_.heads), scratch);
        if ((h + 1) % p_.heads == 0) {
          ++h;
          return;
        }
      }
    });
  }

  template <class Offsets>
  Head head_at(const KernelArgs& args, const Offsets& at, std::int64_t h) const {
    const auto input = [&](std::size_t i) {
      return reinterpret_cast<const float*>(args.inputs[i]);
    };
    const std::int64_t key_head = h / p_.group;
    const std::int64_t mask = (at[3] + h * p_.mask.head) * (p_.is_bool_mask ? 1 : 4);
    return {input(0) + at[0] + h * p_.q.head, input(1) + at[1] + key_head * p_.k.head,
            input(2) + at[2] + key_head * p_.v.head, p_.has_mask ? args.inputs[3] + mask : nullptr,
            reinterpret_cast<float*>(args.outputs[0]) + at[4] + h * p_.y.head};
  }

  void run_head(const KernelArgs& args, const Head& h, float* scratch) const {
    float* scores = scratch;
    float* q = scores + block() * p_.keys;
    float* turned = q + block() * p_.width;
    StopCheck check(args.stop);
    if (p_.turns_k()) turn(h.k, turned, check);
    for (std::int64_t row = 0; row < p_.rows && !check.spend(64); row += query_rows) {
      const std::int64_t n = std::min(query_rows, p_.rows - row);
      for (std::int64_t i = 0; i < n; ++i)
        lines::multiply({h.q + (row + i) * p_.q.row, false}, {&p_.scale, true}, q + i * p_.width,
                        p_.width);
      score(h, q, turned, n, scores, check);
      weigh(h, row, n, scores, check);
    }
  }

  void turn(const float* k, float* to, StopCheck& check) const {
    constexpr std::int64_t tile = 16;
    for (std::int64_t j0 = 0; j0 < p_.keys && !check.spend(tile * p_.width); j0 += tile)
      for (std::int64_t d = 0; d < p_.width; ++d)
        for (std::int64_t j = j0; j < std::min(j0 + tile, p_.keys); ++j)
          to[d * p_.keys + j] = k[j * p_.k.row + d * p_.k.column];
  }

  // scores = q k^T
  void score(const Head& h, const float* q, const float* turned, std::int64_t n, float* scores,
             StopCheck& check) const {
    if (!p_.turns_k() && !p_.k_is_turned()) {
      for (std::int64_t i = 0; i < n; ++i)
        for_each_until(p_.keys, 4 + p_.width / 8, check, [&](std::int64_t j) {
          scores[i * p_.keys + j] = simd().dot(q + i * p_.width, h.k + j * p_.k.row, p_.width);
        });
      return;
    }
    const float* k = p_.turns_k() ? turned : h.k;
    const std::int64_t stride = p_.turns_k() ? p_.keys : p_.k.column;
    multiply_until(
        {q, p_.width, k, stride, simd_panel, scores, p_.keys, n, p_.width, p_.keys, false}, check);
  }

  // y = softmax(scores + mask) v
  void weigh(const Head& h, std::int64_t row, std::int64_t n, float* scores,
             StopCheck& check) const {
    float factors[query_rows];
    for (std::int64_t i = 0; i < n && !check.spend(2 * p_.keys); ++i) {
      float* s = scores + i * p_.keys;
      const bool any = !h.mask || add_mask(h.mask, row + i, s);
      const float sum = any ? simd().exp_sum(s, simd().max(s, p_.keys), s, p_.keys) : 1;
      factors[i] = 1 / sum;
      if (!any) std::fill_n(s, p_.keys, 0.0f);
    }
    float* y = h.y + row * p_.y.row;
    multiply_until({scores, p_.keys, h.v, p_.v.row, simd_panel, y, p_.y.row, n, p_.keys,
                    p_.value_width, false},
                   check);
    for (std::int64_t i = 0; i < n; ++i)
      lines::multiply({y + i * p_.y.row, false}, {factors + i, true}, y + i * p_.y.row,
                      p_.value_width);
  }

  // False if the mask excludes every key.
  bool add_mask(const std::byte* mask, std::int64_t row, float* scores) const {
    bool any = false;
    if (p_.is_bool_mask) {
      const auto* m = reinterpret_cast<const bool*>(mask) + row * p_.mask.row;
      for (std::int64_t j = 0; j < p_.keys; ++j) {
        const bool keep = m[j * p_.mask.column];
        any |= keep;
        scores[j] += keep ? 0 : minus_infinity;
      }
      return any;
    }
    const float* m = reinterpret_cast<const float*>(mask) + row * p_.mask.row;
    const bool is_one = p_.mask.column == 0;
    lines::add({scores, false}, {m, is_one}, scores, p_.keys);
    // A row without NaN whose largest element is -inf.
    return is_one ? *m != minus_infinity : simd().max(m, p_.keys) != minus_infinity;
  }

  AttentionProblem p_;
  std::int64_t heads_;
  std::int64_t tasks_;
};

bool suits_attention(const KernelRequest& r) {
  for (std::size_t i : {0, 1, 2})
    if (r.dtype(i) != DType::f32 || r.shape(i).elements() == 0) return false;
  return !r.has(3) || r.dtype(3) == DType::f32 || r.dtype(3) == DType::boolean;
}

AttentionProblem describe(const KernelRequest& r, std::span<const Layout> layouts,
                          const Layout& y) {
  const auto& op = r.as<Attention>();
  const Shape& q = r.shape(0);
  const Shape& v = r.shape(2);
  const Shape& out = r.outputs[0].shape;
  const std::size_t outer = q.rank() - 3;
  AttentionProblem p{.scale = op.scale};
  p.heads = q[outer];
  p.group = q[outer] / r.shape(1)[outer];
  p.rows = q[outer + 1];
  p.width = q[outer + 2];
  p.keys = v[outer + 1];
  p.value_width = v[outer + 2];
  p.leading = Shape(out.dims().first(outer));
  const auto leading = [&](const Shape& shape, const Shape& strides) {
    return broadcast_strides(Shape(shape.dims().first(outer)), Shape(strides.dims().first(outer)),
                             p.leading);
  };
  for (std::size_t i : {0, 1, 2}) p.strides[i] = leading(r.shape(i), layouts[i].strides);
  p.strides[3] = Shape::filled(outer, 0);
  p.strides[4] = Shape(y.strides.dims().first(outer));
  p.q = heads_of(layouts[0].strides);
  p.k = heads_of(layouts[1].strides);
  if (op.k_transposed) std::swap(p.k.row, p.k.column);
  p.v = heads_of(layouts[2].strides);
  p.y = heads_of(y.strides);
  if (!r.has(3)) return p;
  Shape scores = out;
  scores[outer + 2] = p.keys;
  const Shape mask = broadcast_strides(r.shape(3), scores);
  p.has_mask = true;
  p.is_bool_mask = r.dtype(3) == DType::boolean;
  p.strides[3] = Shape(mask.dims().first(outer));
  p.mask = heads_of(mask);
  return p;
}

}  // namespace

Selection select_attention_rows(const KernelRequest& r) {
  if (!suits_attention(r)) return unsupported();
  KernelChoice choice;
  for (std::size_t i : {0, 1, 2})
    choice.input_layouts.push_back(
        layout_of(r.inputs[i].desc, i == 1 ? Lines::rows_or_columns : Lines::rows));
  choice.input_layouts.resize(r.inputs.size());
  choice.output_layouts = {ordered_like(r.outputs[0].shape, choice.input_layouts[0])};
  auto kernel = std::make_unique<AttentionRows>(
      describe(r, choice.input_layouts, choice.output_layouts[0]), r.target.team.threads);
  choice.implementation = std::string("rows ") + simd().name;
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
