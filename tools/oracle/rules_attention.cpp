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

void weigh(Row& row, const Rounding& r) {
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
  const double exp_error = r.arithmetic() == Arithmetic::vulkan ? 1024 : 16;
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
    for (std::size_t w = 0; w < h.value_width; ++w) {
      double error = r.tiny();
      double size = 0;
      for (std::size_t j = 0; j < h.keys; ++j) {
        if (row.weights[j] == 0) continue;
        const Ball x = e.in[2]->at(v + j * h.value_width + w);
        error += row.weights[j] * (x.e + row.relative[j] * x.size());
        size += row.weights[j] * x.size();
      }
      error += r.gamma(static_cast<double>(h.keys) + 16) * size;
      e.bound()[i * h.value_width + w] = row.is_open ? infinity : error;
    }
  }
  return {};
}

}  // namespace quern::tools::rules
