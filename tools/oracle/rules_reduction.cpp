// SPDX-License-Identifier: Apache-2.0
// Reductions, running sums, and choices of an element.
#include <cmath>
#include <numeric>

#include "graph/ops/cumulative.h"
#include "graph/ops/data_dependent.h"
#include "graph/ops/reduce.h"
#include "graph/ops/unary.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

// The same reduction of something else by something else.
template <class F>
Result<Numbers> reduced(Evaluated& e, ReduceKind kind, F&& element) {
  Reduce op = e.as<Reduce>();
  op.kind = kind;
  std::vector<Tensor> operands = e.values;
  QUERN_ASSIGN(operands[0], tensor_from(*e.in[0], element));
  return through(e, op, operands);
}

double terms(const Evaluated& e) {
  const double out = static_cast<double>(std::max<std::int64_t>(1, e.out[0].elements()));
  return static_cast<double>(e.in[0]->elements()) / out;
}

// A sum of what each element contributes.
struct Summed {
  Numbers error;
  Numbers magnitude;
};
template <class F, class G>
Result<Summed> summed(Evaluated& e, ReduceKind kind, F&& error, G&& magnitude) {
  Summed s;
  QUERN_ASSIGN(s.error, reduced(e, kind, error));
  QUERN_ASSIGN(s.magnitude, reduced(e, kind, magnitude));
  return s;
}

// max and min move no further than the element that moves most.
Status extremum(Evaluated& e) {
  e.storing = Storing::moved;
  if (e.in[0]->exact()) return {};
  QUERN_ASSIGN(e.out[0].bound,
               reduced(e, ReduceKind::max, [&](std::size_t i) { return e.in[0]->error(i); }));
  for (double& b : e.out[0].bound) b = std::max(b, 0.0);  // the maximum of nothing is -inf
  return {};
}

// |log sum exp| moves no further than the element that moves most: its derivatives sum up to 1.
Status log_sum_exp(Evaluated& e) {
  const Traced& x = *e.in[0];
  const Rounding r = e.rounding();
  QUERN_ASSIGN(const Numbers error,
               reduced(e, ReduceKind::max, [&](std::size_t i) { return x.error(i); }));
  QUERN_ASSIGN(const Numbers most, reduced(e, ReduceKind::max, [&](std::size_t i) {
                 return std::isfinite(x.at(i).v) ? x.at(i).size() : 0;
               }));
  for (std::size_t i = 0; i < e.bound().size(); ++i) {
    const double y = e.out[0].value.span<double>()[i];
    const double exp_roundings = e.arithmetic == Arithmetic::vulkan ? 1024 : 16;
    e.bound()[i] = std::isfinite(y) ? std::max(0.0, error[i]) + r.gamma(terms(e) + exp_roundings) +
                                          8 * r.unit() * (std::fabs(y) + std::max(0.0, most[i]))
                                    : (x.exact() ? 0 : infinity);
  }
  return {};
}

Status product(Evaluated& e) {
  const Traced& x = *e.in[0];
  QUERN_ASSIGN(const Summed s,
               summed(
                   e, ReduceKind::prod, [&](std::size_t i) { return std::fabs(x.at(i).v); },
                   [&](std::size_t i) { return x.at(i).size(); }));
  const Rounding r = e.rounding();
  for (std::size_t i = 0; i < e.bound().size(); ++i) {
    const double operands = x.exact() ? 0 : std::max(0.0, s.magnitude[i] - s.error[i]);
    e.bound()[i] = operands + r.gamma(terms(e)) * s.magnitude[i] + 0x1p-40 * operands + r.tiny();
    if (!std::isfinite(s.error[i]) && std::isfinite(operands))
      e.bound()[i] = x.exact() ? 0 : infinity;
    // Part of the product may leave the range of f32 where the whole does not.
    if (e.rounding().type() != DType::f64 && terms(e) > 1 && s.magnitude[i] > 0x1p100)
      e.bound()[i] = infinity;
  }
  return {};
}

bool is_of_squares(ReduceKind kind) {
  return kind == ReduceKind::l2 || kind == ReduceKind::sum_square;
}

}  // namespace

Status bound(const Reduce& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  if (op.kind == ReduceKind::max || op.kind == ReduceKind::min) return extremum(e);
  if (!x.is_float()) return exact_or_undetermined(e);
  if (op.kind == ReduceKind::log_sum_exp) return log_sum_exp(e);
  if (op.kind == ReduceKind::prod) return product(e);
  const bool squares = is_of_squares(op.kind);
  const ReduceKind sum = op.kind == ReduceKind::mean ? ReduceKind::mean : ReduceKind::sum;
  QUERN_ASSIGN(const Summed s, summed(
                                   e, sum,
                                   [&](std::size_t i) {
                                     const Ball b = x.at(i);
                                     return squares ? Rounding::product_error(b, b) : b.e;
                                   },
                                   [&](std::size_t i) {
                                     return squares ? x.at(i).size() * x.at(i).size() : x.size(i);
                                   }));
  const Rounding r = e.rounding();
  const double k = terms(e) + 3;
  for (std::size_t i = 0; i < e.bound().size(); ++i) {
    const double y = e.out[0].value.span<double>()[i];
    const double error = s.error[i] + r.gamma(k) * s.magnitude[i] + k * r.tiny();
    // An infinity or NaN that operands hold, or the logarithm of a sum that is 0 without an error.
    const bool is_special = !std::isfinite(y) && std::isfinite(s.error[i]) &&
                            (!std::isfinite(s.magnitude[i]) || s.magnitude[i] == 0);
    double bound = error;
    if (op.kind == ReduceKind::l2) bound = r.square_root({y * y, error}).e;
    if (op.kind == ReduceKind::l2 && y * y <= error) bound = std::sqrt(y * y + error) + r.tiny();
    if (op.kind == ReduceKind::log_sum)  // of a sum below 0: how far below is not known here
      bound = std::isnan(y) ? infinity : r.unary({.kind = UnaryKind::log}, {std::exp(y), error}).e;
    e.bound()[i] = is_special ? 0 : bound;
  }
  if (sum == op.kind) e.out[0].roundings = k;
  return {};
}

Status bound(const Cumulative& op, Evaluated& e) {
  const Traced& x = *e.in[0];
  if (!x.is_float()) return exact_or_undetermined(e);
  const auto over = [&](auto&& part) -> Result<Numbers> {
    std::vector<Tensor> operands = e.values;
    QUERN_ASSIGN(operands[0], part(x));
    return through(e, op, operands);
  };
  const bool is_sum = op.kind == CumulativeKind::sum;
  QUERN_ASSIGN(const Numbers plain, over(is_sum ? bound_tensor : absolute_tensor));
  QUERN_ASSIGN(const Numbers sizes, over(size_tensor));
  const Rounding r = e.rounding();
  const auto axis = static_cast<std::int64_t>(as_numbers(e.in[1]->value)[0]);
  const double k = static_cast<double>(rows_along(x.value.shape(), axis).length);
  for (std::size_t i = 0; i < e.bound().size(); ++i) {
    const double y = e.out[0].value.span<double>()[i];
    const double operands = is_sum ? plain[i] : x.exact() ? 0 : std::max(0.0, sizes[i] - plain[i]);
    e.bound()[i] = operands + r.gamma(k + 1) * sizes[i] + k * r.tiny();
    if (!std::isfinite(y)) e.bound()[i] = x.exact() ? 0 : infinity;
    if (!is_sum && sizes[i] > 0x1p100 && r.type() != DType::f64) e.bound()[i] = infinity;
  }
  return {};
}

// The chosen one is beyond doubt where no other's interval reaches it.
Status bound(const ArgReduce& op, Evaluated& e) {
  e.storing = Storing::moved;
  const Traced& x = *e.in[0];
  if (x.exact()) return {};
  const Rows rows = rows_along(x.value.shape(), op.axis);
  const Numbers values = as_numbers(x.value);
  const Numbers chosen = as_numbers(e.out[0].value);
  std::size_t row = 0;
  Numbers& bound = e.bound();
  const double sign = op.is_max ? 1 : -1;
  rows.each([&](std::size_t start, std::size_t step) {
    const auto best = static_cast<std::size_t>(chosen[row]);
    const std::size_t at = start + best * step;
    bool is_certain = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows.length) && is_certain; ++i) {
      const std::size_t other = start + i * step;
      if (i == best) continue;
      const double reach = x.error(at) + x.error(other);
      is_certain = reach == 0 || sign * (values[at] - values[other]) > reach;
    }
    bound[row++] = is_certain ? 0 : infinity;
  });
  return {};
}

// The k-th greatest moves no further than the element that moves most; which one it is, is beyond
// doubt where no other one reaches it.
Status bound(const TopK& op, Evaluated& e) {
  e.storing = Storing::moved;
  const Traced& x = *e.in[0];
  if (!op.sorted) {
    for (std::size_t i = 0; i < e.out.size(); ++i) e.undetermined(i);
    return {};
  }
  if (x.exact()) return {};
  const Rows rows = rows_along(x.value.shape(), op.axis);
  const Rows out = rows_along(e.out[0].value.shape(), op.axis);
  const Numbers values = as_numbers(x.value);
  const auto n = static_cast<std::size_t>(rows.length);
  std::vector<std::size_t> starts;
  rows.each([&](std::size_t start, std::size_t) { starts.push_back(start); });
  std::size_t row = 0;
  std::vector<std::size_t> order(n);
  out.each([&](std::size_t start, std::size_t step) {
    const std::size_t from = starts[row++];
    const auto at = [&](std::size_t i) { return from + order[i] * step; };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return op.largest ? values[from + a * step] > values[from + b * step]
                        : values[from + a * step] < values[from + b * step];
    });
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) most = std::max(most, x.error(from + i * step));
    // True if no other element may change places with element i.
    const auto is_certain = [&](std::size_t i) {
      for (std::size_t j = 0; j < n; ++j) {
        const double reach = x.error(at(i)) + x.error(at(j));
        if (j != i && reach != 0 && !(std::fabs(values[at(i)] - values[at(j)]) > reach))
          return false;
      }
      return true;
    };
    for (std::size_t i = 0; i < static_cast<std::size_t>(out.length); ++i) {
      e.bound(0)[start + i * step] = most;
      if (e.out.size() > 1) e.bound(1)[start + i * step] = is_certain(i) ? 0 : infinity;
    }
  });
  return {};
}

Status bound(const NonZero&, Evaluated& e) {
  const Traced& x = *e.in[0];
  const Numbers values = as_numbers(x.value);
  e.storing = Storing::moved;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (x.error(i) > 0 && !(std::fabs(values[i]) > x.error(i))) e.structure = Structure::open;
  return {};
}

}  // namespace quern::tools::rules
