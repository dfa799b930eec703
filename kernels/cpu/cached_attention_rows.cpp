// SPDX-License-Identifier: Apache-2.0
// CachedAttention in f32, in blocks of keys: the scores of some rows with a block, what the largest
// score so far becomes by them, and their part of the weighted sum of values, which is scaled down
// whenever a larger score comes. The rows of the query heads that share a key head are one matrix,
// so that a block is read once for all of them. KeyBlock and values of 16 bits are widened by
// blocks.
#include "kernels/cpu/cached_attention_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/attention.h"
#include "kernels/contract/attention_layouts.h"
#include "kernels/contract/cuts.h"
#include "kernels/contract/iterate.h"
#include "kernels/cpu/product_pieces.h"
#include "kernels/simd/simd.h"
#include "kernels/simd/simd_lines.h"

namespace quern {

Status check_keys_in_cache(const KeyRows& keys) {
  if (keys.before >= 0 && keys.rows <= keys.all - keys.before) return {};
  return {Code::invalid_argument,
          cat(keys.rows, " rows behind ", keys.before, " keys attend to a cache of ", keys.all)};
}

namespace {

constexpr std::int64_t cached_rows = 48;   // of one task
constexpr std::int64_t cached_keys = 128;  // a multiple of simd_panel
constexpr std::int64_t rows_to_turn = 8;   // so many rows make it worth turning a block of keys
constexpr float no_score = -std::numeric_limits<float>::infinity();

struct CachedProblem {
  CachedAttention op;
  std::int64_t sequences, heads, group, rows, keys, width, value_width;
  DType cache = DType::f32;          // of keys and values
  Shape q, k, v, y;                  // strides
  Shape bias = Shape::filled(4, 0);  // over [B, heads, S, T]
  bool has_bias = false, has_sink = false;

  std::int64_t rows_of_key_head() const { return group * rows; }
  std::int64_t row_blocks() const { return ceil_div(rows_of_key_head(), cached_rows); }
  std::int64_t block_rows() const { return std::min(cached_rows, rows_of_key_head()); }
  std::int64_t tasks() const { return sequences * (heads / group) * row_blocks(); }
  bool is_wide() const { return cache == DType::f32; }
};

// The memory of one task.
struct BlockRoom {
  // A null `at` finds the size alone.
  BlockRoom(const CachedProblem& p, float* at) {
    const auto take = [&](std::int64_t n) {
      float* const part = at ? at + size : nullptr;
      size += round_up(n, 16);
      return part;
    };
    q = take(p.block_rows() * p.width);
    sums = take(p.block_rows() * p.value_width);
    scores = take(p.block_rows() * cached_keys);
    turned = take(p.block_rows() < rows_to_turn ? 0 : cached_keys * p.width);
    keys = take(p.is_wide() ? 0 : cached_keys * p.width);
    values = take(p.is_wide() ? 0 : cached_keys * p.value_width);
  }
  float *q, *sums, *scores;
  float* turned;          // keys as [width, cached_keys]
  float *keys, *values;   // widened
  std::int64_t size = 0;  // in floats
};

// Rows that share their keys.
struct KeyTask {
  std::int64_t sequence, key_head;
  std::int64_t first_row, rows;  // of group * rows, the heads of one position side by side
  std::int64_t before;
};

struct KeyBlock {
  std::int64_t first, count;
  const float *k, *v;
  std::int64_t k_row, v_row;  // strides
};

class CachedAttentionRows final : public CpuKernel {
 public:
  CachedAttentionRows(const CachedProblem& p, int threads)
      : p_(p), slots_(Parallel::slots(p_.tasks(), threads)), room_(BlockRoom(p_, nullptr).size) {}

  std::size_t scratch_bytes() const {
    return static_cast<std::size_t>(slots_ * room_) * sizeof(float);
  }

  Status run(const KernelArgs& args, KernelState*, const Parallel& parallel) const override {
    const auto* before = reinterpret_cast<const std::int64_t*>(args.inputs[3]);
    std::int64_t keys = 0;
    for (std::int64_t b = 0; b < p_.sequences; ++b) {
      QUERN_TRY(check_keys_in_cache({before[b], p_.rows, p_.keys}));
      keys += before[b] + p_.rows;
    }
    const auto run_task = [&](std::size_t slot, std::int64_t i) {
      BlockRoom room(
          p_, reinterpret_cast<float*>(args.scratch) + static_cast<std::int64_t>(slot) * room_);
      attend(args, task_of(i, before), room);
    };
    if (keys * p_.heads * p_.rows * p_.width < cut_size(200000)) {
      for (std::int64_t i = 0; i < p_.tasks(); ++i) run_task(0, i);
    } else {
      parallel.each(p_.tasks(), run_task);
    }
    return {};
  }

 private:
  KeyTask task_of(std::int64_t i, const std::int64_t* before) const {
    const std::int64_t block = i % p_.row_blocks();
    const std::int64_t head = i / p_.row_blocks();
    const std::int64_t key_heads = p_.heads / p_.group;
    const std::int64_t first = block * cached_rows;
    return {.sequence = head / key_heads,
            .key_head = head % key_heads,
            .first_row = first,
            .rows = std::min(cached_rows, p_.rows_of_key_head() - first),
            .before = before[head / key_heads]};
  }

  std::int64_t position(const KeyTask& t, std::int64_t row) const {
    return t.before + (t.first_row + row) / p_.group;
  }
  std::int64_t head(const KeyTask& t, std::int64_t row) const {
    return t.key_head * p_.group + (t.first_row + row) % p_.group;
  }
  std::int64_t offset(const Shape& strides, const KeyTask& t, std::int64_t row) const {
    return t.sequence * strides[0] + head(t, row) * strides[1] +
           (t.first_row + row) / p_.group * strides[2];
  }
  std::int64_t first_key(std::int64_t position) const {
    return p_.op.window > 0 ? std::max<std::int64_t>(0, position + 1 - p_.op.window) : 0;
  }

  void attend(const KernelArgs& args, const KeyTask& t, const BlockRoom& room) const {
    float largest[cached_rows], sums[cached_rows];
    begin(args, t, room, largest, sums);
    const std::int64_t end = position(t, t.rows - 1) + 1;
    StopCheck check(args.stop);
    for (std::int64_t j = first_key(position(t, 0)); j < end; j += cached_keys) {
      const KeyBlock keys = keys_at(args, t, j, std::min(cached_keys, end - j), room);
      if (check.spend(keys.count * t.rows * (p_.width + p_.value_width) / 16)) return;
      score(t, keys, room);
      for (std::int64_t i = 0; i < t.rows; ++i)
        weigh(args, t, keys, room, {i, largest[i], sums[i]});
      simd().multiply({room.scores, cached_keys, keys.v, keys.v_row, simd_panel, room.sums,
                       p_.value_width, t.rows, keys.count, p_.value_width, true});
    }
    auto* y = reinterpret_cast<float*>(args.outputs[0]);
    for (std::int64_t i = 0; i < t.rows; ++i) {
      const float factor = sums[i] == 0 ? 0 : 1 / sums[i];
      lines::multiply({room.sums + i * p_.value_width, false}, {&factor, true},
                      y + offset(p_.y, t, i), p_.value_width);
    }
  }

  // Scaled rows of q, and sums over nothing but the sink.
  void begin(const KernelArgs& args, const KeyTask& t, const BlockRoom& room, float* largest,
             float* sums) const {
    const auto* q = reinterpret_cast<const float*>(args.inputs[0]);
    const auto* sink =
        reinterpret_cast<const float*>(args.inputs.size() > 5 ? args.inputs[5] : nullptr);
    for (std::int64_t i = 0; i < t.rows; ++i) {
      lines::multiply({q + offset(p_.q, t, i), false}, {&p_.op.scale, true}, room.q + i * p_.width,
                      p_.width);
      largest[i] = p_.has_sink ? sink[head(t, i)] : no_score;
      sums[i] = largest[i] == no_score ? 0 : 1;
    }
    std::fill_n(room.sums, t.rows * p_.value_width, 0.0f);
  }

  KeyBlock keys_at(const KernelArgs& args, const KeyTask& t, std::int64_t first, std::int64_t count,
                   const BlockRoom& room) const {
    const std::int64_t k = t.sequence * p_.k[0] + t.key_head * p_.k[1] + first * p_.k[2];
    const std::int64_t v = t.sequence * p_.v[0] + t.key_head * p_.v[1] + first * p_.v[2];
    if (p_.is_wide())
      return {first,
              count,
              reinterpret_cast<const float*>(args.inputs[1]) + k,
              reinterpret_cast<const float*>(args.inputs[2]) + v,
              p_.k[2],
              p_.v[2]};
    widen(reinterpret_cast<const std::uint16_t*>(args.inputs[1]) + k, p_.k[2], count, p_.width,
          room.keys);
    widen(reinterpret_cast<const std::uint16_t*>(args.inputs[2]) + v, p_.v[2], count,
          p_.value_width, room.values);
    return {first, count, room.keys, room.values, p_.width, p_.value_width};
  }

  void widen(const std::uint16_t* x, std::int64_t stride, std::int64_t rows, std::int64_t width,
             float* y) const {
    for (std::int64_t j = 0; j < rows; ++j) {
      if (p_.cache == DType::f16)
        simd().half_to_float(x + j * stride, y + j * width, width);
      else
        simd().bfloat_to_float(x + j * stride, y + j * width, width);
    }
  }

  // scores = q k^T
  void score(const KeyTask& t, const KeyBlock& keys, const BlockRoom& room) const {
    if (t.rows < rows_to_turn) {
      for (std::int64_t j = 0; j < keys.count; ++j)
        for (std::int64_t i = 0; i < t.rows; ++i)
          room.scores[i * cached_keys + j] =
              simd().dot(room.q + i * p_.width, keys.k + j * keys.k_row, p_.width);
      return;
    }
    for (std::int64_t j = 0; j < keys.count; ++j)
      for (std::int64_t d = 0; d < p_.width; ++d)
        room.turned[d * cached_keys + j] = keys.k[j * keys.k_row + d];
    simd().multiply({room.q, p_.width, room.turned, cached_keys, simd_panel, room.scores,
                     cached_keys, t.rows, p_.width, keys.count, false});
  }

  // A query row of a task, and what is known of its scores so far.
  struct Row {
    std::int64_t i;
    float& largest;
    float& sum;
  };

  // Makes the scores of a row their exponentials over the largest so far, 0 where it sees no key.
  void weigh(const KernelArgs& args, const KeyTask& t, const KeyBlock& keys, const BlockRoom& room,
             const Row& row) const {
    const auto& [i, largest, sum] = row;
    const std::int64_t at = position(t, i);
    const std::int64_t begin = std::clamp<std::int64_t>(first_key(at) - keys.first, 0, keys.count);
    const std::int64_t end = std::clamp<std::int64_t>(at + 1 - keys.first, begin, keys.count);
    float* s = room.scores + i * cached_keys;
    std::fill(s, s + begin, 0.0f);
    std::fill(s + end, s + keys.count, 0.0f);
    if (begin == end) return;
    cap(s + begin, end - begin);
    if (p_.has_bias)
      add_bias(args, offset(p_.bias, t, i) + (keys.first + begin) * p_.bias[3], s + begin,
               end - begin);
    const float in_block = simd().max(s + begin, end - begin);
    if (in_block == no_score) return std::fill(s + begin, s + end, 0.0f);
    if (!(in_block <= largest)) {  // or NaN
      const float factor = std::exp(largest - in_block);
      lines::multiply({room.sums + i * p_.value_width, false}, {&factor, true},
                      room.sums + i * p_.value_width, p_.value_width);
      sum *= factor;
      largest = in_block;
    }
    sum += simd().exp_sum(s + begin, largest, s + begin, end - begin);
  }

  void cap(float* s, std::int64_t n) const {
    const float softcap = p_.op.softcap;
    if (softcap == 0) return;
    lines::divide({s, false}, {&softcap, true}, s, n);
    lines::hyperbolic_tangent(s, s, n);
    lines::multiply({s, false}, {&softcap, true}, s, n);
  }

  void add_bias(const KernelArgs& args, std::int64_t at, float* s, std::int64_t n) const {
    const auto* bias = reinterpret_cast<const float*>(args.inputs[4]) + at;
    lines::add({s, false}, {bias, p_.bias[3] == 0}, s, n);
  }

  CachedProblem p_;
  std::int64_t slots_;
  std::int64_t room_;  // floats of a slot
};

bool suits_cached_attention(const KernelRequest& r) {
  if (r.dtype(0) != DType::f32 || r.outputs[0].shape.elements() == 0) return false;
  if (r.shape(0).elements() == 0) return false;
  const DType cache = r.dtype(1);
  return cache == DType::f32 || cache == DType::f16 || cache == DType::bf16;
}

CachedProblem cached_problem(const KernelRequest& r, std::span<const Layout> layouts,
                             const Layout& y) {
  const Shape& q = r.shape(0);
  const Shape& v = r.shape(2);
  CachedProblem p{.op = r.as<CachedAttention>(),
                  .sequences = q[0],
                  .heads = q[1],
                  .group = q[1] / v[1],
                  .rows = q[2],
                  .keys = v[2],
                  .width = q[3],
                  .value_width = v[3],
                  .cache = r.dtype(1),
                  .q = layouts[0].strides,
                  .k = layouts[1].strides,
                  .v = layouts[2].strides,
                  .y = y.strides};
  p.has_bias = r.has(4);
  p.has_sink = r.has(5);
  if (p.has_bias) p.bias = broadcast_strides(r.shape(4), Shape{q[0], q[1], q[2], v[2]});
  return p;
}

}  // namespace

Selection select_cached_attention_rows(const KernelRequest& r) {
  if (!suits_cached_attention(r)) return unsupported();
  KernelChoice choice;
  for (std::size_t i : {0, 1, 2})
    choice.input_layouts.push_back(layout_of(r.inputs[i].desc, Lines::rows));
  choice.input_layouts.resize(r.inputs.size());
  choice.output_layouts = {ordered_like(r.outputs[0].shape, choice.input_layouts[0])};
  auto kernel = std::make_unique<CachedAttentionRows>(
      cached_problem(r, choice.input_layouts, choice.output_layouts[0]), r.target.team.threads);
  choice.implementation = std::string("blocks ") + simd().name;
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.work = std::move(kernel);
  return std::optional<KernelChoice>(std::move(choice));
}

}  // namespace quern
