// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/match.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/evaluate.h"
#include "graph/numeric.h"
#include "graph/ops/binary.h"
#include "graph/ops/reshape.h"
#include "graph/ops/unary.h"
#include "graph/passes/reshape_target.h"

namespace quern::passes {
namespace {

constexpr std::int64_t max_numbers = 1 << 16;

// Element i of a constant as a double; the bytes may be unaligned.
double element(const Tensor& t, std::int64_t i) {
  return visit_dtype(t.dtype(), [&]<class T>(TypeTag<T>) -> double {
    if constexpr (is_number_type<T>) {
      T v;
      std::memcpy(&v, t.data() + static_cast<std::size_t>(i) * sizeof v, sizeof v);
      return static_cast<double>(v);
    } else {
      return 0;
    }
  });
}

double epsilon(DType dtype) {
  switch (dtype) {
    case DType::f64: return 0x1p-52;
    case DType::f32: return 0x1p-23;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0;
  }
}

}  // namespace

// ---- nodes -------------------------------------------------------------------------------------

const Node* producer(const Graph& g, ValueId v) {
  if (v == no_value || g.value(v).producer == no_node) return nullptr;
  const Node& n = g.node(g.value(v).producer);
  return n.is_refused ? nullptr : &n;
}

namespace {

// Squeeze drops dimensions that are known to be 1.
bool drops_ones(const Graph& g, const Node& squeeze) {
  const ValueType& x = g.type(squeeze.inputs[0]);
  if (squeeze.inputs.size() < 2 || squeeze.inputs[1] == no_value) return x.fully_known();
  const auto axes = ints(g, squeeze.inputs[1]);
  if (!axes || !x.dims) return false;
  const auto rank = static_cast<std::int64_t>(x.dims->size());
  return std::ranges::all_of(*axes, [&](std::int64_t a) {
    return (*x.dims)[static_cast<std::size_t>(a < 0 ? a + rank : a)].is(1);
  });
}

// Two tensors of these dimensions have as many elements, whatever the symbols stand for.
bool have_as_many(const std::optional<Dims>& a, const std::optional<Dims>& b) {
  if (!a || !b) return false;
  std::vector<std::uint32_t> symbols[2];
  Dim known[2] = {Dim(1), Dim(1)};
  for (const std::size_t side : {0, 1}) {
    Dims numbers;
    for (const Dim d : side == 0 ? *a : *b) {
      if (d.unknown()) return false;
      if (d.is_symbol())
        symbols[side].push_back(d.symbol_id());
      else
        numbers.push_back(d);
    }
    std::ranges::sort(symbols[side]);
    known[side] = product(numbers);
  }
  return symbols[0] == symbols[1] && known[0].same(known[1]);
}

}  // namespace

bool always_fits(const Graph& g, const Node& n) {
  if (n.as<Flatten>()) return g.type(n.inputs[0]).dims.has_value();
  if (n.as<Squeeze>()) return drops_ones(g, n);
  if (n.as<Unsqueeze>()) return g.value(n.inputs[1]).is_constant();
  return g.value(n.inputs[1]).is_constant() &&
         have_as_many(g.type(n.inputs[0]).dims, g.type(n.outputs[0]).dims);
}

bool is_unary(const Node& n, UnaryKind kind) {
  const Unary* u = bare<Unary>(n);
  return u && u->kind == kind;
}

bool is_binary(const Node& n, BinaryKind kind) {
  const Binary* b = bare<Binary>(n);
  return b && b->kind == kind;
}

const Node* unary(const Graph& g, ValueId v, UnaryKind kind) {
  const Node* n = producer(g, v);
  return n && is_unary(*n, kind) ? n : nullptr;
}

const Node* binary(const Graph& g, ValueId v, BinaryKind kind) {
  const Node* n = producer(g, v);
  return n && is_binary(*n, kind) ? n : nullptr;
}

bool has_input(const Node& n, std::size_t i) {
  return i < n.inputs.size() && n.inputs[i] != no_value;
}

bool has_other_readers(const Graph& g, const Node& n) {
  return std::any_of(n.outputs.begin() + 1, n.outputs.end(), [&](ValueId v) {
    return v != no_value && (!g.value(v).uses.empty() || g.is_output(v));
  });
}

bool is_constant_expression(const Graph& g, ValueId v, int depth) {
  if (g.value(v).is_constant()) return true;
  const Node* n = producer(g, v);
  if (!n || depth == 0 || n->inputs.empty() || !can_evaluate(n->op.def())) return false;
  const Reads reads = n->reads();
  return std::all_of(reads.begin(), reads.end(), [&](ValueId in) {
    return in == no_value || is_constant_expression(g, in, depth - 1);
  });
}

// ---- types -------------------------------------------------------------------------------------

bool is_number_float(const Graph& g, ValueId v) {
  return g.type(v).is_tensor() && quern::is_number_float(g.type(v).dtype);
}

bool fits_float(const Graph& g, ValueId v, double x) {
  return g.type(v).dtype != DType::f64 || static_cast<double>(static_cast<float>(x)) == x;
}

bool known_same(const ValueType& a, const ValueType& b) {
  if (a.dtype != b.dtype || a.kind != b.kind || !a.dims || !b.dims) return false;
  return std::equal(a.dims->begin(), a.dims->end(), b.dims->begin(), b.dims->end(),
                    [](Dim x, Dim y) { return x.same(y); });
}

bool known_same(const Graph& g, ValueId a, ValueId b) {
  return known_same(g.type(a), g.type(b));
}

bool keeps_shape(const ValueType& x, const ValueType& operand) {
  if (!operand.dims) return false;
  if (operand.dims->empty()) return true;
  if (!x.dims || operand.dims->size() > x.dims->size()) return false;
  return std::equal(operand.dims->rbegin(), operand.dims->rend(), x.dims->rbegin(),
                    [](Dim o, Dim d) { return o.is(1) || o.same(d); });
}

bool keeps_shape(const Graph& g, ValueId x, ValueId operand) {
  return keeps_shape(g.type(x), g.type(operand));
}

std::optional<std::size_t> positive_axis(const Graph& g, ValueId v, std::int64_t axis) {
  if (!g.type(v).dims) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(g.type(v).dims->size());
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

// ---- constants ---------------------------------------------------------------------------------

std::optional<double> splat(const Graph& g, ValueId v) {
  if (v == no_value || !g.value(v).is_constant()) return std::nullopt;
  const Tensor& t = g.value(v).constant;
  const std::int64_t n = t.shape().elements();
  if (!is_number(t.dtype()) || n == 0 || n > max_numbers) return std::nullopt;
  const std::size_t size = size_of(t.dtype());
  for (std::int64_t i = 1; i < n; ++i)
    if (std::memcmp(t.data(), t.data() + static_cast<std::size_t>(i) * size, size) != 0)
      return std::nullopt;
  return element(t, 0);
}

bool is_splat(const Graph& g, ValueId v, double number) {
  const auto all = splat(g, v);
  return all && *all == number;
}

std::optional<bool> constant_bool(const Graph& g, ValueId v) {
  if (!g.value(v).is_constant() || g.type(v).dtype != DType::boolean) return std::nullopt;
  const auto elements = g.value(v).constant.span<std::uint8_t>();
  const bool first = !elements.empty() && elements[0] != 0;
  const auto is_first = [&](std::uint8_t b) { return (b != 0) == first; };
  if (elements.empty() || !std::ranges::all_of(elements, is_first)) return std::nullopt;
  return first;
}

bool is_about(double number, double wanted, DType dtype) {
  return std::fabs(number - wanted) <= 2 * epsilon(dtype) * std::fabs(wanted);
}

std::optional<Ints> ints(const Graph& g, ValueId v) {
  if (v == no_value || !g.value(v).is_constant()) return std::nullopt;
  if (g.value(v).constant.shape().elements() > max_numbers) return std::nullopt;
  return int_elements(g.value(v).constant);
}

std::optional<std::vector<double>> numbers(const Tensor& t) {
  const std::int64_t n = t.shape().elements();
  if (!t.valid() || !is_number(t.dtype()) || n > max_numbers) return std::nullopt;
  std::vector<double> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(element(t, i));
  return all;
}

std::optional<std::vector<double>> numbers(const Graph& g, ValueId v) {
  if (v == no_value || !g.value(v).is_constant()) return std::nullopt;
  return numbers(g.value(v).constant);
}

Tensor number_tensor(DType dtype, const Shape& shape, std::span<const double> values) {
  auto t = Tensor::zeros({dtype, shape});
  if (!t) return {};
  visit_number(dtype, [&]<class T>(TypeTag<T>) {
    auto* to = reinterpret_cast<T*>(t->mutable_data());
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = convert<T>(values[i]);
  });
  return std::move(*t);
}

ValueId add_number(Graph& g, DType dtype, double value) {
  return g.add_constant(number_tensor(dtype, {}, {&value, 1}));
}

ValueId add_ints(Graph& g, const Ints& values) {
  return g.add_constant(Tensor::from_values<std::int64_t>(
      DType::i64, {static_cast<std::int64_t>(values.size())}, values));
}

std::optional<ReshapeTarget> reshape_target(const Dims& dims) {
  ReshapeTarget target;
  int open = 0;
  for (Dim d : dims) {
    open += !d.known();
    target.op.allow_zero |= d.is(0);
    target.shape.push_back(d.or_minus_one());
  }
  if (open > 1 || (open == 1 && target.op.allow_zero)) return std::nullopt;
  return target;
}

// ---- steps -------------------------------------------------------------------------------------

Result<bool> replace_op(Graph& g, NodeId id, Op op, std::vector<ValueId> inputs) {
  return g.replace(id, std::move(op), std::move(inputs)).ok();
}

Result<bool> replace_keeping_post_ops(Graph& g, NodeId id, Op op, std::vector<ValueId> inputs) {
  const Node& n = g.node(id);
  return g
      .replace(id, std::move(op), std::move(inputs), PostOps(n.post_ops),
               std::vector<ValueId>(n.operands))
      .ok();
}

Result<bool> replace_uses(Graph& g, NodeId id, ValueId value) {
  const ValueId output = g.node(id).outputs[0];
  const ValueType& type = g.type(output);
  const ValueType& other = g.type(value);
  if (output == value || type.dtype != other.dtype || type.kind != other.kind) return false;
  if (type.dims && (!other.dims || meet(*other.dims, *type.dims) != other.dims)) return false;
  g.replace_uses(output, value);
  return true;
}

Result<bool> replace_with_constant(Graph& g, ValueId output, Tensor tensor) {
  if (!tensor.valid()) return false;
  const ValueType& type = g.type(output);
  const ValueType is(tensor.type());
  if (type.dtype != is.dtype || !type.is_tensor()) return false;
  if (type.dims && !meet(*type.dims, *is.dims)) return false;
  g.make_constant(output, std::move(tensor));
  return true;
}

}  // namespace quern::passes
