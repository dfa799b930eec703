// SPDX-License-Identifier: Apache-2.0
// Operators that move elements: the bounds move with them.
#include <algorithm>
#include <cmath>

#include "graph/ops/data_dependent.h"
#include "graph/ops/fill.h"
#include "graph/ops/scatter.h"
#include "tools/oracle/rules.h"

namespace quern::tools::rules {
namespace {

void all_undetermined(Evaluated& e) {
  for (std::size_t i = 0; i < e.out.size(); ++i) e.undetermined(i);
}

// The node over something else that its operands' elements have: their bounds, their magnitudes.
template <class F>
Result<std::vector<Tensor>> over(Evaluated& e, std::span<const std::size_t> data, F&& part) {
  std::vector<Tensor> operands = e.values;
  for (std::size_t i : data)
    if (e.has(i)) {
      QUERN_ASSIGN(operands[i], part(*e.in[i]));
    }
  return e.run(e.op, operands);
}

Status move_operands(Evaluated& e, std::span<const std::size_t> data) {
  e.storing = Storing::moved;
  bool is_exact = true;
  bool is_plain = true;
  for (std::size_t i = 0; i < e.in.size(); ++i) {
    if (!e.has(i)) continue;
    const bool is_data = std::ranges::find(data, i) != data.end();
    if (!is_data && !e.in[i]->exact()) return all_undetermined(e), Status();
    if (!is_data) continue;
    is_exact &= e.in[i]->exact();
    is_plain &= e.in[i]->magnitude.empty();
    for (Traced& out : e.out) {
      out.roundings = std::max(out.roundings, e.in[i]->roundings);
      out.step = std::max(out.step, e.in[i]->step);
    }
  }
  if (!is_exact) {
    QUERN_ASSIGN(const std::vector<Tensor> bounds, over(e, data, bound_tensor));
    for (std::size_t i = 0; i < bounds.size(); ++i) e.out[i].bound = as_numbers(bounds[i]);
  }
  if (!is_plain) {
    QUERN_ASSIGN(const std::vector<Tensor> sizes, over(e, data, magnitude_tensor));
    for (std::size_t i = 0; i < sizes.size(); ++i) e.out[i].magnitude = as_numbers(sizes[i]);
  }
  return {};
}

}  // namespace

Status move(Evaluated& e, std::initializer_list<std::size_t> data) {
  return move_operands(e, {data.begin(), data.size()});
}

Status move_all(Evaluated& e) {
  std::vector<std::size_t> all(e.in.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return move_operands(e, all);
}

Status exact_or_undetermined(Evaluated& e) {
  e.storing = Storing::moved;
  if (!e.exact()) all_undetermined(e);
  return {};
}

Status of_host(Evaluated& e) {
  e.storing = Storing::moved;
  const bool rounds = std::ranges::any_of(e.out, [](const auto& out) { return out.is_float(); });
  if (rounds || !e.exact()) all_undetermined(e);
  return {};
}

Status bound(const Scatter& op, Evaluated& e) {
  if (op.reduction == ScatterReduction::none) return move(e, {0, 2});
  if (!e.in[1]->exact()) return all_undetermined(e), Status();
  const bool is_extremum =
      op.reduction == ScatterReduction::max || op.reduction == ScatterReduction::min;
  const bool is_float = e.out[0].is_float();
  if (!is_float && e.exact()) return {};
  const std::size_t data[] = {0, 2};
  // The greatest error of those that meet is enough for an extremum of them.
  Scatter step = op;
  step.reduction = is_extremum ? ScatterReduction::max : op.reduction;
  const auto run = [&](auto&& part) -> Result<Numbers> {
    std::vector<Tensor> operands = e.values;
    for (std::size_t i : data) {
      QUERN_ASSIGN(operands[i], part(*e.in[i]));
    }
    return through(e, step, operands);
  };
  if (is_extremum) {
    e.storing = Storing::moved;
    if (e.exact()) return {};
    QUERN_ASSIGN(e.out[0].bound, run(bound_tensor));
    return {};
  }
  QUERN_ASSIGN(const Numbers sizes, run(magnitude_tensor));
  QUERN_ASSIGN(const Numbers plain,
               run(op.reduction == ScatterReduction::add ? bound_tensor : absolute_tensor));
  const double most = static_cast<double>(e.in[2]->elements());
  const Rounding r = e.rounding();
  const double gamma = is_float ? r.gamma(most + 1) : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double operands =
        op.reduction == ScatterReduction::add ? plain[i] : std::max(0.0, sizes[i] - plain[i]);
    e.bound()[i] = operands + gamma * sizes[i] + (is_float ? r.tiny() : 0);
  }
  return {};
}

// start + i * delta, rounded twice.
Status bound(const Range&, Evaluated& e) {
  if (!e.out[0].is_float()) return exact_or_undetermined(e);
  const Rounding r = e.rounding();
  const double start = std::fabs(e.in[0]->value.span<double>()[0]);
  for (std::size_t i = 0; i < e.bound().size(); ++i)
    e.bound()[i] = 4 * r.unit() * (start + std::fabs(e.out[0].value.span<double>()[i]));
  return {};
}

Status bound(const Compress&, Evaluated& e) {
  return move(e, {0});
}

}  // namespace quern::tools::rules
