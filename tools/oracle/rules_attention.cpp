// SPDX-License-Identifier: Apache-2.0
// softmax(scale q k^T + mask) v, row by row.
#include <cmath>

#include "graph/ops/attention.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

struct Heads {
  std::size_t heads, group, rows, keys, width, value_width;
  bool turned;
  std::vector<std::size_t> q, k, v;  // the block of leading dimensions, by that of the result
};

Heads heads_of(const Attention& op, const Evaluated& e) {
  const Shape& q = e.in[0]->value.shape();
  const Shape& k = e.in[1]->value.shape();
  const Shape& v = e.in[2]->value.shape();
  const std::size_t outer = q.rank() - 3;
  const auto leading = [&](const Shape& s) { return Shape(std::span(s.begin(), outer)); };
  const Shape y = leading(e.out[0].value.shape());
  const auto at = [](const Shape& s, std::size_t i) { return static_cast<std::size_t>(s[i]); };
  return {at(q, outer),
          k[outer] ? static_cast<std::size_t>(q[outer] / k[outer]) : 1,
          at(q, outer + 1),
          at(v, outer + 1),
          at(q, outer + 2),
          at(v, outer + 2),
          op.k_transposed,
          broadcast_indices(leading(q), y),
          broadcast_indices(leading(k), y),
          broadcast_indices(leading(v), y)};
}

struct Row {
  std::vector<Ball> scores;
  Numbers weights;
  Numbers relative;  // how far each weight may be off
  bool is_open = false;
};

// `blocks`: of keys, at each of which the exponentials so far may be scaled down.
void weigh(Row& row, const Rounding& r, double blocks = 0) {
  double greatest = -infinity;
  for (const Ball& s : row.scores) greatest = std::max(greatest, s.v);
  row.weights.assign(row.scores.size(), 0.0);
  row.relative.assign(row.scores.size(), 0.0);
  if (greatest == -infinity) {  // zeros by definition
    row.is_open = std::ranges::any_of(row.scores, [](const Ball& s) { return !s.exact(); });
    return;
  }
  double sum = 0;
  for (const Ball& s : row.scores) sum += std::exp(s.v - greatest);
  const double exp_error = (r.arithmetic() == Arithmetic::vulkan ? 1024 : 16) * (1 + blocks);
  double sum_error = r.gamma(static_cast<double>(row.scores.size()) + 16);
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    const Ball& s = row.scores[j];
    if (s.v == -infinity && s.exact()) continue;
    row.weights[j] = std::exp(s.v - greatest) / sum;
    row.relative[j] = growth(s.e + r.unit() * (3 * std::fabs(s.v - greatest) + exp_error));
    if (row.weights[j] > 0) sum_error += row.weights[j] * row.relative[j];
  }
  row.is_open = !(sum_error < 0.5);
  for (double& d : row.relative) d = (1 + d) / (1 - sum_error) - 1;
}

// Row `y` of the result: the weighted sum of rows of values, the first of them at element `v`.
struct ValueRows {
  std::size_t v, keys, width, y;
};
void bound_sums(const Row& row, const ValueRows& rows, Evaluated& e) {
  const Rounding r = e.rounding();
  for (std::size_t w = 0; w < rows.width; ++w) {
    double error = r.tiny();
    double size = 0;
    for (std::size_t j = 0; j < rows.keys; ++j) {
      if (row.weights[j] == 0) continue;
      const Ball x = e.in[2]->at(rows.v + j * rows.width + w);
      error += row.weights[j] * (x.e + row.relative[j] * x.size());
      size += row.weights[j] * x.size();
    }
    error += r.gamma(static_cast<double>(rows.keys) + 16) * size;
    e.bound()[rows.y * rows.width + w] = row.is_open ? infinity : error;
  }
}

}  // namespace

Status bound(const Attention& op, Evaluated& e) {
  if (e.out[0].elements() == 0) return {};
  const Heads h = heads_of(op, e);
  const Rounding r = e.rounding();
  Shape score_shape = e.out[0].value.shape();
  score_shape[score_shape.rank() - 1] = static_cast<std::int64_t>(h.keys);
  std::vector<std::size_t> masks;
  Numbers mask;
  if (e.has(3)) {
    masks = broadcast_indices(e.in[3]->value.shape(), score_shape);
    mask = as_numbers(e.in[3]->value);
    if (e.in[3]->value.dtype() == DType::boolean)
      for (double& m : mask) m = m != 0 ? 0 : -infinity;
  }
  const Ball scale{static_cast<double>(op.scale), 0};
  for (std::size_t i = 0; i < h.q.size() * h.heads * h.rows; ++i) {
    const std::size_t block = i / (h.heads * h.rows);
    const std::size_t head = i / h.rows % h.heads;
    const std::size_t q = (h.q[block] * h.heads * h.rows + i % (h.heads * h.rows)) * h.width;
    const std::size_t kv_head = head / h.group;
    const std::size_t k = (h.k[block] * (h.heads / h.group) + kv_head) * h.keys * h.width;
    const std::size_t v = (h.v[block] * (h.heads / h.group) + kv_head) * h.keys * h.value_width;
    Row row;
    for (std::size_t j = 0; j < h.keys; ++j) {
      Sum dot;
      for (std::size_t w = 0; w < h.width; ++w)
        dot.add_product(e.in[0]->at(q + w),
                        e.in[1]->at(k + (h.turned ? w * h.keys + j : j * h.width + w)));
      Ball score = r.mul(dot.total(r, folded_roundings), scale);
      if (e.has(3)) {
        const std::size_t m = masks[i * h.keys + j];
        score = mask[m] == -infinity && e.in[3]->error(m) == 0
                    ? Ball{-infinity, 0}
                    : r.add(score, {mask[m], e.in[3]->error(m)});
      }
      row.scores.push_back(score);
    }
    weigh(row, r);
    bound_sums(row, {v, h.keys, h.value_width, i}, e);
  }
  return {};
}

namespace {

// softcap * tanh(s / softcap), which is no steeper than s.
Ball capped(const Ball& s, double softcap, const Rounding& r) {
  if (softcap == 0) return s;
  const double v = softcap * std::tanh(s.v / softcap);
  const double tanh_error = r.arithmetic() == Arithmetic::vulkan ? 1024 : 16;
  return {v, s.e + r.unit() * (tanh_error * std::fabs(v) + 4 * std::fabs(s.v))};
}

// The shapes of a CachedAttention, and where row i of head h of sequence b finds its keys.
struct CachedHeads {
  std::size_t heads, key_heads, rows, keys, width, value_width;

  explicit CachedHeads(const Evaluated& e) {
    const Shape& q = e.in[0]->value.shape();
    const Shape& k = e.in[1]->value.shape();
    const auto at = [](const Shape& s, std::size_t i) { return static_cast<std::size_t>(s[i]); };
    heads = at(q, 1), rows = at(q, 2), width = at(q, 3);
    key_heads = at(k, 1), keys = at(k, 2);
    value_width = at(e.in[2]->value.shape(), 3);
  }
  std::size_t first_key(std::size_t b, std::size_t h) const {
    return (b * key_heads + h / (heads / key_heads)) * keys;
  }
};

}  // namespace

Status bound(const CachedAttention& op, Evaluated& e) {
  if (e.out[0].elements() == 0) return {};
  const CachedHeads h(e);
  const Rounding r = e.rounding();
  Shape score_shape = e.out[0].value.shape();
  score_shape[3] = static_cast<std::int64_t>(h.keys);
  std::vector<std::size_t> biases;
  if (e.has(4)) biases = broadcast_indices(e.in[4]->value.shape(), score_shape);
  const Numbers before = as_numbers(e.in[3]->value);
  const Ball scale{static_cast<double>(op.scale), 0};
  for (std::size_t i = 0; i < before.size() * h.heads * h.rows; ++i) {
    const std::size_t b = i / (h.heads * h.rows), head = i / h.rows % h.heads;
    const std::size_t end = static_cast<std::size_t>(before[b]) + i % h.rows + 1;
    const auto window = static_cast<std::size_t>(op.window);
    const std::size_t first = window > 0 && end > window ? end - window : 0;
    const std::size_t keys = h.first_key(b, head) + first;
    Row row;
    for (std::size_t j = 0; j < end - first; ++j) {
      Sum dot;
      for (std::size_t w = 0; w < h.width; ++w)
        dot.add_product(e.in[0]->at(i * h.width + w), e.in[1]->at((keys + j) * h.width + w));
      const Ball score = r.mul(dot.total(r, folded_roundings), scale);
      row.scores.push_back(capped(score, static_cast<double>(op.softcap), r));
      if (e.has(4))
        row.scores[j] = r.add(row.scores[j], e.in[4]->at(biases[i * h.keys + first + j]));
    }
    if (e.has(5)) row.scores.push_back(e.in[5]->at(head));
    weigh(row, r, static_cast<double>(h.keys) / 128 + 1);
    bound_sums(row, {keys * h.value_width, end - first, h.value_width, i}, e);
  }
  return {};
}

}  // namespace quern::tools::rules
