// SPDX-License-Identifier: Apache-2.0
// Elementwise operators with two or more inputs.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary.h"
#include "graph/ops/reshape.h"
#include "graph/ops/unary_kind.h"
#include "graph/ops/where.h"

namespace quern::onnx {
namespace {

template <BinaryKind Kind>
void plain(NodeImport& n) {
  n.emit(Binary{.kind = Kind}, {n.in(0), n.in(1)});
}

// Before opset 7 an attribute enabled broadcasting, and b's dimensions were aligned to `axis` of
// a's instead of to their end.
ValueId legacy_operand(NodeImport& n) {
  const bool broadcast = n.flag("broadcast", Flag::off);
  const bool at_end = !n.has_attribute("axis");
  std::int64_t axis = n.integer("axis", 0);
  if (!broadcast || at_end) return n.in(1);
  const std::int64_t a = n.known_rank(n.in(0));
  const std::int64_t b = n.known_rank(n.in(1));
  if (axis < 0) axis += a;
  if (n.ok() && (axis < 0 || b > a - axis))
    n.fail("axis and the second input's rank do not fit the first input");
  return with_trailing_ones(n, n.in(1), a - axis);
}

template <BinaryKind Kind>
void legacy(NodeImport& n) {
  const ValueId b = legacy_operand(n);
  n.emit(Binary{.kind = Kind}, {n.in(0), b});
}

void import_mod(NodeImport& n) {
  const bool fmod = n.flag("fmod", Flag::off);
  n.emit(Binary{.kind = fmod ? BinaryKind::fmod : BinaryKind::mod}, {n.in(0), n.in(1)});
}

void import_bit_shift(NodeImport& n) {
  if (!n.has_attribute("direction")) return n.fail("attribute 'direction' is missing");
  n.emit(Binary{.kind = n.choice<BinaryKind>(
                    "direction", "",
                    {{"LEFT", BinaryKind::shift_left}, {"RIGHT", BinaryKind::shift_right}})},
         {n.in(0), n.in(1)});
}

// Before opset 7 a slope with one dimension had one value per channel.
void import_prelu_6(NodeImport& n) {
  ValueId slope = n.in(1);
  const bool shared = n.type(slope).dims && product(*n.type(slope).dims).is(1);
  if (!shared && n.known_rank(slope) == 1)
    slope = with_trailing_ones(n, slope, n.known_rank(n.in(0)) - 1);
  n.emit(Binary{.kind = BinaryKind::prelu}, {n.in(0), slope});
}

// max(a, b, c) = max(max(a, b), c)
ValueId chain(NodeImport& n, BinaryKind kind) {
  ValueId all = n.in(0);
  for (std::size_t i = 1; i < n.input_count(); ++i) all = binary(n, kind, all, n.in(i));
  return all;
}

template <BinaryKind Kind>
void variadic(NodeImport& n) {
  if (n.input_count() == 1) return n.emit(Identity{}, {n.in(0)});
  n.set(0, chain(n, Kind));
}

void import_mean(NodeImport& n) {
  if (n.input_count() == 1) return n.emit(Identity{}, {n.in(0)});
  const ValueId sum = chain(n, BinaryKind::add);
  n.set(0, div(n, sum, n.scalar_like(sum, static_cast<double>(n.input_count()))));
}

void import_where(NodeImport& n) {
  n.emit(Where{}, {n.in(0), n.in(1), n.in(2)});
}

void import_swiglu(NodeImport& n) {
  n.set(0, mul(n, unary(n, UnaryKind::swish, n.in(0), n.number("alpha", 1)), n.in(1)));
}

constexpr OpRow binary_rows[] = {
    {"Add", 1, legacy<BinaryKind::add>, two},
    {"Add", 7, plain<BinaryKind::add>, two},
    {"And", 1, legacy<BinaryKind::logical_and>, two},
    {"And", 7, plain<BinaryKind::logical_and>, two},
    {"BitShift", 11, import_bit_shift, two},
    {"BitwiseAnd", 18, plain<BinaryKind::bitwise_and>, two},
    {"BitwiseOr", 18, plain<BinaryKind::bitwise_or>, two},
    {"BitwiseXor", 18, plain<BinaryKind::bitwise_xor>, two},
    {"Div", 1, legacy<BinaryKind::div>, two},
    {"Div", 7, plain<BinaryKind::div>, two},
    {"Equal", 1, legacy<BinaryKind::equal>, two},
    {"Equal", 7, plain<BinaryKind::equal>, two},
    {"Greater", 1, legacy<BinaryKind::greater>, two},
    {"Greater", 7, plain<BinaryKind::greater>, two},
    {"GreaterOrEqual", 12, plain<BinaryKind::greater_equal>, two},
    {"Less", 1, legacy<BinaryKind::less>, two},
    {"Less", 7, plain<BinaryKind::less>, two},
    {"LessOrEqual", 12, plain<BinaryKind::less_equal>, two},
    {"Max", 1, variadic<BinaryKind::max>, any},
    {"Mean", 1, import_mean, any},
    {"Min", 1, variadic<BinaryKind::min>, any},
    {"Mod", 10, import_mod, two},
    {"Mul", 1, legacy<BinaryKind::mul>, two},
    {"Mul", 7, plain<BinaryKind::mul>, two},
    {"Or", 1, legacy<BinaryKind::logical_or>, two},
    {"Or", 7, plain<BinaryKind::logical_or>, two},
    {"PRelu", 1, import_prelu_6, two},
    {"PRelu", 7, plain<BinaryKind::prelu>, two},
    {"Pow", 1, legacy<BinaryKind::pow>, two},
    {"Pow", 7, plain<BinaryKind::pow>, two},
    {"Sub", 1, legacy<BinaryKind::sub>, two},
    {"Sub", 7, plain<BinaryKind::sub>, two},
    {"Sum", 1, variadic<BinaryKind::add>, any},
    {"SwiGLU", 28, import_swiglu, two},
    {"Where", 9, import_where, {3, 3}},
    {"Xor", 1, legacy<BinaryKind::logical_xor>, two},
    {"Xor", 7, plain<BinaryKind::logical_xor>, two},
};

}  // namespace

OpRows binary_ops() {
  return binary_rows;
}

}  // namespace quern::onnx
