// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/terms.h"

#include <algorithm>

#include "graph/ops/binary.h"
#include "graph/ops/unary_kind.h"
#include "graph/passes/match.h"

namespace quern::passes {
namespace {

constexpr int max_depth = 6;

// The number that a binary node applies to its other operand, and where that stands.
struct Number {
  double value;
  std::size_t other;
};
std::optional<Number> number_of(const Graph& g, const Node& n) {
  const Binary* b = bare<Binary>(n);
  if (!b) return std::nullopt;
  const bool either_side = b->kind == BinaryKind::add || b->kind == BinaryKind::mul;
  for (std::size_t i : {1, 0}) {
    if (i == 0 && !either_side) break;
    const auto c = splat(g, n.inputs[i]);
    if (c && keeps_shape(g, n.inputs[1 - i], n.inputs[i])) return Number{*c, 1 - i};
  }
  return std::nullopt;
}

class Collector {
 public:
  Collector(const Graph& g, ValueId whole) : g_(g), whole_(whole) {}

  // False if there are too many.
  bool factors(ValueId v, int depth, Terms& terms) const {
    const Node* n = v == whole_ || depth == 0 ? nullptr : producer(g_, v);
    if (!n) return terms.add(v);
    if (is_unary(*n, UnaryKind::neg)) {
      terms.constant = -terms.constant;
      return factors(n->inputs[0], depth - 1, terms);
    }
    if (is_binary(*n, BinaryKind::pow)) return power(*n, v, depth - 1, terms);
    const bool divides = is_binary(*n, BinaryKind::div);
    if (!divides && !is_binary(*n, BinaryKind::mul)) return terms.add(v);
    if (const auto c = number_of(g_, *n)) {
      terms.constant = divides ? terms.constant / c->value : terms.constant * c->value;
      return factors(n->inputs[c->other], depth - 1, terms);
    }
    if (divides) return terms.add(v);
    return factors(n->inputs[0], depth - 1, terms) && factors(n->inputs[1], depth - 1, terms);
  }

  bool summands(ValueId v, int depth, Terms& terms) const {
    const Node* n = v == whole_ || depth == 0 ? nullptr : producer(g_, v);
    if (!n) return terms.add(v);
    const bool subtracts = is_binary(*n, BinaryKind::sub);
    if (!subtracts && !is_binary(*n, BinaryKind::add)) return terms.add(v);
    if (const auto c = number_of(g_, *n)) {
      terms.constant += subtracts ? -c->value : c->value;
      return summands(n->inputs[c->other], depth - 1, terms);
    }
    if (subtracts) return terms.add(v);
    return summands(n->inputs[0], depth - 1, terms) && summands(n->inputs[1], depth - 1, terms);
  }

 private:
  bool power(const Node& n, ValueId v, int depth, Terms& terms) const {
    const auto exponent = splat(g_, n.inputs[1]);
    if (!exponent || (*exponent != 2 && *exponent != 3)) return terms.add(v);
    for (int i = 0; i < static_cast<int>(*exponent); ++i)
      if (!factors(n.inputs[0], depth, terms)) return false;
    return true;
  }

  const Graph& g_;
  ValueId whole_;
};

}  // namespace

bool Terms::are_all(ValueId v, std::size_t n) const {
  return size_ == n && std::ranges::count(values(), v) == static_cast<std::ptrdiff_t>(n);
}

std::optional<ValueId> Terms::other(ValueId v) const {
  if (size_ != 2) return std::nullopt;
  if (values_[0] == v) return values_[1];
  if (values_[1] == v) return values_[0];
  return std::nullopt;
}

bool Terms::add(ValueId v) {
  if (size_ == max_size) return false;
  values_[size_++] = v;
  return true;
}

std::optional<Terms> product_of(const Graph& g, ValueId v, ValueId whole) {
  Terms terms(1);
  if (!Collector(g, whole).factors(v, max_depth, terms)) return std::nullopt;
  return terms;
}

std::optional<Terms> sum_of(const Graph& g, ValueId v, ValueId whole) {
  Terms terms(0);
  if (!Collector(g, whole).summands(v, max_depth, terms)) return std::nullopt;
  return terms;
}

Line line_of(const Graph& g, ValueId v, ValueId whole) {
  Line line{v};
  for (int depth = 0; depth < max_depth && line.x != whole; ++depth) {
    const Node* n = producer(g, line.x);
    const auto c = n ? number_of(g, *n) : std::nullopt;
    if (!c) break;
    switch (n->as<Binary>()->kind) {
      case BinaryKind::add: line.offset += line.slope * c->value; break;
      case BinaryKind::sub: line.offset -= line.slope * c->value; break;
      case BinaryKind::mul: line.slope *= c->value; break;
      case BinaryKind::div: line.slope /= c->value; break;
      default: return line;
    }
    line.x = n->inputs[c->other];
  }
  return line;
}

void FactorTree::collect(const Graph& g, ValueId v, int depth) {
  const Node* n = depth == 0 ? nullptr : producer(g, v);
  if (!n || !(is_binary(*n, BinaryKind::mul) || is_binary(*n, BinaryKind::div))) return;
  for (ValueId in : n->inputs) {
    if (g.value(in).is_constant()) continue;
    if (size_ < values_.size()) values_[size_++] = in;
    collect(g, in, depth - 1);
  }
}

}  // namespace quern::passes
