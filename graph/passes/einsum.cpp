// SPDX-License-Identifier: Apache-2.0
// Einsums of two operands that are products of matrices: attention is often exported so.
#include "graph/ops/einsum.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "graph/ops/einsum_equation.h"
#include "graph/ops/matmul.h"
#include "graph/ops/reshape.h"
#include "graph/ops/transpose.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

using Ids = std::vector<std::size_t>;  // of labels, by dimension (graph/ops/einsum_equation.h)

bool contains(const Ids& ids, std::size_t id) {
  return std::ranges::find(ids, id) != ids.end();
}
Ids joined(std::initializer_list<Ids> parts) {
  Ids all;
  for (const Ids& p : parts) all.insert(all.end(), p.begin(), p.end());
  return all;
}

// nullopt while the rank is unknown, or where a label stands for two dimensions.
std::optional<Ids> ids_of(const Graph& g, const einsum::Equation& equation, std::size_t operand,
                          ValueId v) {
  const auto& dims = g.type(v).dims;
  const auto term = einsum::parse_term(equation.operand(operand));
  if (!dims || !term || !term->fits(dims->size())) return std::nullopt;
  Ids ids;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    const std::size_t id = term->id(d, dims->size());
    if (contains(ids, id)) return std::nullopt;
    ids.push_back(id);
  }
  return ids;
}

// A product of matrices y[batch, rows, columns] = a[batch, rows, summed] b[batch, summed, columns],
// each of which is a list of labels.
struct Contraction {
  Ids a, b, y;
  Ids batch, rows, columns, summed;

  // True if each matrix has the dimensions of one label, whatever they are.
  bool is_plain() const { return rows.size() == 1 && columns.size() == 1 && summed.size() == 1; }
};

// nullopt if a label is summed within one operand, or if all of them are the batch's.
std::optional<Contraction> contraction_of(const Graph& g, const Node& n) {
  const einsum::Equation equation(n.as<Einsum>()->equation);
  if (equation.size() != 2) return std::nullopt;
  const auto a = ids_of(g, equation, 0, n.inputs[0]);
  const auto b = ids_of(g, equation, 1, n.inputs[1]);
  if (!a || !b) return std::nullopt;
  einsum::Occurrences seen{};
  for (std::size_t id : joined({*a, *b})) ++seen[id];
  const auto order = einsum::make_order(equation, seen);
  if (!order) return std::nullopt;
  Contraction c;
  c.a = *a;
  c.b = *b;
  c.y.assign(order->ids.begin(), order->ids.begin() + order->outer);
  for (std::size_t id : c.y) {
    Ids& role = !contains(c.b, id) ? c.rows : !contains(c.a, id) ? c.columns : c.batch;
    role.push_back(id);
  }
  for (std::size_t id : c.a)
    if (!contains(c.y, id)) c.summed.push_back(id);
  for (std::size_t id : c.summed)
    if (!contains(c.b, id)) return std::nullopt;
  for (std::size_t id : c.b)
    if (!contains(c.y, id) && !contains(c.a, id)) return std::nullopt;
  if (c.rows.empty() && c.columns.empty() && c.summed.empty()) return std::nullopt;
  return c;
}

Dim dim_of(const Graph& g, ValueId v, const Ids& ids, std::size_t id) {
  return (*g.type(v).dims)[static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin())];
}

// A dimension of 1 that is summed would broadcast.
bool sums_equal_dimensions(const Graph& g, const Node& n, const Contraction& c) {
  return std::ranges::all_of(c.summed, [&](std::size_t id) {
    return dim_of(g, n.inputs[0], c.a, id).same(dim_of(g, n.inputs[1], c.b, id));
  });
}
// Reshapes need numbers; 0 would mean something else there.
bool is_known(const Graph& g, ValueId v) {
  return std::ranges::all_of(*g.type(v).dims, [](Dim d) { return d.known() && d.value() > 0; });
}

Ints permutation_to(const Ids& from, const Ids& to) {
  Ints perm;
  for (std::size_t id : to) perm.push_back(std::ranges::find(from, id) - from.begin());
  return perm;
}

// The matrices of an operand with these labels: batch, then the labels of rows, then of columns.
Result<ValueId> matrices(Graph& g, ValueId v, const Ids& ids, const Contraction& c, const Ids& rows,
                         const Ids& columns) {
  const auto size = [&](std::size_t id) { return dim_of(g, v, ids, id).or_minus_one(); };
  const auto product = [&](const Ids& group) {
    return std::accumulate(group.begin(), group.end(), std::int64_t{1},
                           [&](std::int64_t n, std::size_t id) { return n * size(id); });
  };
  Ints sizes;
  for (std::size_t id : c.batch) sizes.push_back(size(id));
  sizes.push_back(product(rows));
  sizes.push_back(product(columns));
  const Ids order = joined({c.batch, rows, columns});
  if (order != ids) {
    QUERN_ASSIGN(v, g.add(Transpose{permutation_to(ids, order)}, {v}));
  }
  if (c.is_plain()) return v;
  return g.add(Reshape{}, {v, add_ints(g, sizes)});
}

// The known dimensions of the result, in the order of a product of matrices.
Ints result_sizes(const Graph& g, const Node& n, const Contraction& c) {
  Ints sizes;
  for (std::size_t id : joined({c.batch, c.rows, c.columns})) {
    std::int64_t size = 1;
    if (contains(c.a, id)) size = dim_of(g, n.inputs[0], c.a, id).value();
    if (contains(c.b, id) && size == 1) size = dim_of(g, n.inputs[1], c.b, id).value();
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

// einsum(a, b)  =>  transpose(matmul(transpose(a), transpose(b))), with reshapes around it where
// several labels are the rows, the columns or the terms of a matrix, or none is
Result<bool> einsum_to_matmul(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!bare<Einsum>(n) || n.inputs.size() != 2 || !is_number_float(g, n.inputs[0])) return false;
  const auto c = contraction_of(g, n);
  if (!c || !sums_equal_dimensions(g, n, *c)) return false;
  const std::vector<ValueId> inputs = n.inputs;
  if (!c->is_plain() && !(is_known(g, inputs[0]) && is_known(g, inputs[1]))) return false;
  const Ids made = joined({c->batch, c->rows, c->columns});
  const Ints sizes = c->is_plain() ? Ints() : result_sizes(g, n, *c);
  QUERN_ASSIGN(const ValueId a, matrices(g, inputs[0], c->a, *c, c->rows, c->summed));
  QUERN_ASSIGN(const ValueId b, matrices(g, inputs[1], c->b, *c, c->summed, c->columns));
  if (c->is_plain() && made == c->y) return replace_op(g, id, MatMul{}, {a, b});
  QUERN_ASSIGN(ValueId y, g.add(MatMul{}, {a, b}, g.node(id).name));
  if (!c->is_plain()) {
    const ValueId shape = add_ints(g, sizes);
    if (made == c->y) return replace_op(g, id, Reshape{}, {y, shape});
    QUERN_ASSIGN(y, g.add(Reshape{}, {y, shape}));
  }
  return replace_op(g, id, Transpose{permutation_to(made, c->y)}, {y});
}

}  // namespace quern::passes
