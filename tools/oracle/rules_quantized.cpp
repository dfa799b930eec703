// SPDX-License-Identifier: Apache-2.0
// Quantised operators: a result may be one step off where what is rounded to it lies within the
// error of the middle between two steps.
#include <cmath>

#include "graph/ops/conv.h"
#include "graph/ops/matmul.h"
#include "graph/ops/quantised_products.h"
#include "graph/ops/quantize.h"
#include "graph/ops/unary.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

struct Limits {
  double low = 0;
  double high = 0;
};

// The limits of the quantised integer types; nullopt for the small floats.
std::optional<Limits> limits_of(DType t) {
  switch (t) {
    case DType::i4: return Limits{-8, 7};
    case DType::u4: return Limits{0, 15};
    case DType::i2: return Limits{-2, 1};
    case DType::u2: return Limits{0, 3};
    case DType::i8: return Limits{-128, 127};
    case DType::u8: return Limits{0, 255};
    case DType::i16: return Limits{-32768, 32767};
    case DType::u16: return Limits{0, 65535};
    default: return std::nullopt;
  }
}

// The largest distance of round(q) + zero, saturated, from `y` for q in the ball.
double step_error(Ball q, Ball zero, Limits l, double y) {
  if (!std::isfinite(q.e) || !std::isfinite(zero.e)) return infinity;
  if (std::isnan(q.v)) return infinity;
  const auto quantised = [&](double v, double z) {
    return std::clamp(std::nearbyint(v) + z, l.low, l.high);
  };
  return std::max(std::fabs(quantised(q.low(), zero.low()) - y),
                  std::fabs(quantised(q.high(), zero.high()) - y));
}

// Which scale belongs to an element: one for all, one along the axis, or one to a block of it.
std::vector<std::size_t> scale_indices(const Shape& x, const Shape& scale, std::int64_t axis,
                                       std::int64_t block) {
  std::vector<std::size_t> out(static_cast<std::size_t>(x.elements()), 0);
  if (scale.elements() == 1 || out.empty()) return out;
  const Rows rows = rows_along(x, axis);
  const std::int64_t blocks = block > 0 ? rows_along(scale, axis).length : 0;
  rows.each([&](std::size_t start, std::size_t step) {
    for (std::size_t a = 0; a < static_cast<std::size_t>(rows.length); ++a) {
      const std::size_t row = start / (step * static_cast<std::size_t>(rows.length));
      out[start + a * step] =
          blocks ? (row * static_cast<std::size_t>(blocks) + a / static_cast<std::size_t>(block)) *
                           step +
                       start % step
                 : a;
    }
  });
  return out;
}

Numbers zero_points(const Evaluated& e, std::size_t input) {
  return e.has(input) ? as_numbers(e.in[input]->value) : Numbers{0};
}

double pick(const Numbers& all, std::size_t i) {
  return all[all.size() == 1 ? 0 : i];
}

// x - zero as f64, with the bound that x has. `i(k)`: which zero point element k has.
template <class F>
Result<Tensor> centred(const Evaluated& e, std::size_t input, const Numbers& zeros, F&& i) {
  const Numbers v = as_numbers(e.in[input]->value);
  return tensor_from(*e.in[input], [&](std::size_t k) { return v[k] - pick(zeros, i(k)); });
}

// Sums of products of integers as f64, where they are exact, and what the operands' errors make of
// them.
struct IntegerSums {
  Numbers value;
  Numbers error;
};

struct Roles {
  std::size_t x, x_zero, w, w_zero;
};

// `op` is the product over f64, `row` the zero point of w that an element has.
template <class F>
Result<IntegerSums> integer_sums(Evaluated& e, const Op& op, const Roles& roles, F&& x_row,
                                 F&& row) {
  QUERN_ASSIGN(const Tensor x, centred(e, roles.x, zero_points(e, roles.x_zero), x_row));
  QUERN_ASSIGN(const Tensor w, centred(e, roles.w, zero_points(e, roles.w_zero), row));
  IntegerSums sums;
  QUERN_ASSIGN(sums.value, through(e, op, {x, w}));
  sums.error.assign(sums.value.size(), 0.0);
  if (e.in[roles.x]->exact() && e.in[roles.w]->exact()) return sums;
  const auto sizes = [&](const Tensor& t, std::size_t input) {
    return tensor_from(*e.in[input], [&](std::size_t k) {
      return std::fabs(t.span<double>()[k]) + e.in[input]->error(k);
    });
  };
  QUERN_ASSIGN(const Tensor wide_x, sizes(x, roles.x));
  QUERN_ASSIGN(const Tensor wide_w, sizes(w, roles.w));
  QUERN_ASSIGN(const Tensor error_x, bound_tensor(*e.in[roles.x]));
  QUERN_ASSIGN(const Tensor error_w, bound_tensor(*e.in[roles.w]));
  QUERN_ASSIGN(const Numbers of_x, through(e, op, {error_x, wide_w}));
  QUERN_ASSIGN(const Numbers of_w, through(e, op, {wide_x, error_w}));
  for (std::size_t i = 0; i < sums.error.size(); ++i) sums.error[i] = of_x[i] + of_w[i];
  return sums;
}

std::size_t first(std::size_t) {
  return 0;
}
using RowOf = std::function<std::size_t(std::size_t)>;

// The zero point of a conv's weights is one for all or one for each output channel.
RowOf rows_of_weights(const Evaluated& e, std::size_t w) {
  const Shape& s = e.in[w]->value.shape();
  const auto each = static_cast<std::size_t>(std::max<std::int64_t>(1, s.elements(1)));
  return [each](std::size_t k) { return k / each; };
}
// That of a matrix: of the columns on the right, of the rows on the left.
RowOf columns(const Evaluated& e, std::size_t i) {
  const auto n = static_cast<std::size_t>(std::max<std::int64_t>(1, e.in[i]->value.shape().back()));
  return [n](std::size_t k) { return k % n; };
}
RowOf matrix_rows(const Evaluated& e, std::size_t i) {
  const Shape& s = e.in[i]->value.shape();
  const auto n = static_cast<std::size_t>(std::max<std::int64_t>(1, s.back()));
  const auto m =
      static_cast<std::size_t>(s.rank() > 1 ? std::max<std::int64_t>(1, s[s.rank() - 2]) : 1);
  return [n, m](std::size_t k) { return k / n % m; };
}

Status integer_result(Evaluated& e, const IntegerSums& sums) {
  for (std::size_t i = 0; i < sums.error.size(); ++i)
    e.bound()[i] = std::fabs(sums.value[i]) + sums.error[i] < 0x1p31 || sums.error[i] == 0
                       ? sums.error[i]
                       : infinity;
  return {};
}

// scale(i): x_scale * w_scale / y_scale of a result, in f64. The run multiplies in f32, in any
// order: five roundings.
template <class F>
Status requantised(Evaluated& e, const IntegerSums& sums, F&& scale) {
  const auto limits = limits_of(e.out[0].type);
  if (!limits) return exact_or_undetermined(e);
  const Rounding r(DType::f32, e.arithmetic);
  const Numbers y = as_numbers(e.out[0].value);
  const double zero = zero_points(e, 7)[0];
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double s = scale(i);
    const double q = sums.value[i] * s;
    const double error =
        sums.error[i] * std::fabs(s) + r.gamma(6) * (std::fabs(q) + sums.error[i] * std::fabs(s));
    e.bound()[i] = step_error({q, error}, {zero, 0}, *limits, y[i]);
  }
  return {};
}

bool are_parameters_exact(const Evaluated& e, std::initializer_list<std::size_t> inputs) {
  return std::ranges::all_of(inputs, [&](std::size_t i) { return !e.has(i) || e.in[i]->exact(); });
}

}  // namespace

Status bound(const Quantize& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Traced& scale = *e.in[1];
  const auto at = scale_indices(x.value.shape(), scale.value.shape(), op.axis, op.block_size);
  const auto limits = limits_of(e.out[0].type);
  if (!are_parameters_exact(e, {2})) return exact_or_undetermined(e);
  const Numbers zeros = zero_points(e, 2);
  const Numbers values = as_numbers(x.value);
  const Numbers scales = as_numbers(scale.value);
  const Numbers y = as_numbers(e.out[0].value);
  const Rounding r(scale.type, e.arithmetic);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Ball b{values[i], x.error(i)};
    Ball q = r.div(b, {scales[at[i]], scale.error(at[i])});
    if (std::isinf(b.v) && b.exact() && scale.exact()) q = {b.v * scales[at[i]], 0};
    q.e += r.stored(q);
    if (limits) {
      e.bound()[i] = step_error(q, {pick(zeros, at[i]), 0}, *limits, y[i]);
    } else {  // a small float: up to two of its steps
      const double least = e.out[0].type == DType::f4e2m1 ? 1 : 0x1p-8;
      e.bound()[i] = q.e + std::fabs(y[i]) / 2 + least;
    }
  }
  return {};
}

Status bound(const Dequantize& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Traced& scale = *e.in[1];
  const auto at = scale_indices(x.value.shape(), scale.value.shape(), op.axis, op.block_size);
  if (!are_parameters_exact(e, {2})) return exact_or_undetermined(e);
  const Numbers zeros = zero_points(e, 2);
  const Numbers values = as_numbers(x.value);
  const Rounding r = e.rounding();
  for (std::size_t i = 0; i < values.size(); ++i)
    e.bound()[i] = r.mul({values[i] - pick(zeros, at[i]), x.error(i)}, scale.at(at[i])).e;
  for (std::size_t i = 0; i < static_cast<std::size_t>(scale.elements()); ++i)
    e.out[0].step = std::max(e.out[0].step, scale.at(i).size());
  return {};
}

Status bound(const DynamicQuantize&, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Rounding r(DType::f32, e.arithmetic);
  Ball low;
  Ball high;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.elements()); ++i) {
    const Ball b = x.at(i);
    low = {std::min(low.v, b.v), std::max(low.e, b.e)};
    high = {std::max(high.v, b.v), std::max(high.e, b.e)};
  }
  if (!(high.low() - low.high() > 0)) return exact_or_undetermined(e);
  const Ball scale = r.div(r.sub(high, low), {255, 0});
  const Ball zero =
      r.unary({.kind = UnaryKind::clip, .alpha = 0, .beta = 255}, r.div(r.sub({0, 0}, low), scale));
  const Limits u8{0, 255};
  const double z = std::nearbyint(zero.v);
  const double zero_error = step_error(zero, {0, 0}, u8, z);
  const Numbers y = as_numbers(e.out[0].value);
  for (std::size_t i = 0; i < y.size(); ++i)
    e.bound()[i] = step_error(r.div(x.at(i), scale), {z, zero_error}, u8, y[i]);
  if (e.out.size() > 1) e.bound(1)[0] = scale.e + r.unit() * scale.size();
  if (e.out.size() > 2) e.bound(2)[0] = zero_error;
  return {};
}

Status bound(const ConvInteger& op, Evaluated& e) {
  if (e.exact()) return {};
  if (!are_parameters_exact(e, {2, 3})) return exact_or_undetermined(e);
  QUERN_ASSIGN(const IntegerSums sums, integer_sums(e, Conv{op.window, op.group}, {0, 2, 1, 3},
                                                    RowOf(first), rows_of_weights(e, 1)));
  return integer_result(e, sums);
}

Status bound(const MatMulInteger&, Evaluated& e) {
  if (e.exact()) return {};
  if (!are_parameters_exact(e, {2, 3})) return exact_or_undetermined(e);
  QUERN_ASSIGN(const IntegerSums sums,
               integer_sums(e, MatMul{}, {0, 2, 1, 3}, matrix_rows(e, 0), columns(e, 1)));
  return integer_result(e, sums);
}

Status bound(const QLinearConv& op, Evaluated& e) {
  if (!are_parameters_exact(e, {1, 2, 4, 5, 6, 7, 8})) return exact_or_undetermined(e);
  QUERN_ASSIGN(IntegerSums sums, integer_sums(e, Conv{op.window, op.group}, {0, 2, 3, 5},
                                              RowOf(first), rows_of_weights(e, 3)));
  const Shape& y = e.out[0].value.shape();
  const auto image = static_cast<std::size_t>(std::max<std::int64_t>(1, y.elements(2)));
  const auto channels = static_cast<std::size_t>(std::max<std::int64_t>(1, y[1]));
  const auto channel = [&](std::size_t i) { return i / image % channels; };
  const Numbers bias = zero_points(e, 8);
  const Numbers w_scale = as_numbers(e.in[4]->value);
  const double factor = as_numbers(e.in[1]->value)[0] / as_numbers(e.in[6]->value)[0];
  for (std::size_t i = 0; i < sums.value.size(); ++i) sums.value[i] += pick(bias, channel(i));
  return requantised(e, sums, [&](std::size_t i) { return factor * pick(w_scale, channel(i)); });
}

Status bound(const QLinearMatMul&, Evaluated& e) {
  if (!are_parameters_exact(e, {1, 2, 4, 5, 6, 7})) return exact_or_undetermined(e);
  QUERN_ASSIGN(const IntegerSums sums,
               integer_sums(e, MatMul{}, {0, 2, 3, 5}, matrix_rows(e, 0), columns(e, 3)));
  const Numbers a_scale = as_numbers(e.in[1]->value);
  const Numbers b_scale = as_numbers(e.in[4]->value);
  const double y_scale = as_numbers(e.in[6]->value)[0];
  const Shape& y = e.out[0].value.shape();
  const auto n = static_cast<std::size_t>(
      y.empty() || e.in[3]->value.shape().rank() < 2 ? 1 : std::max<std::int64_t>(1, y.back()));
  const auto m = a_scale.size();
  return requantised(e, sums, [&](std::size_t i) {
    return pick(a_scale, i / n % m) * pick(b_scale, i % n) / y_scale;
  });
}

}  // namespace quern::tools::rules
