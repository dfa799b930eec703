// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of one, two and more operands, comparisons, choices and casts.
#include <algorithm>
#include <array>
#include <cmath>

#include "frontends/onnx-parser/tensor.h"
#include "tools/random/families.h"

namespace quern::tools {

const std::vector<DType>& ordinary_floats() {
  static const std::vector<DType> t = {DType::f32, DType::f16, DType::f64};
  return t;
}
const std::vector<DType>& all_floats() {
  static const std::vector<DType> t = {DType::f32, DType::f16, DType::f64, DType::bf16};
  return t;
}
const std::vector<DType>& all_integers() {
  static const std::vector<DType> t = {DType::i8, DType::i16, DType::i32, DType::i64,
                                       DType::u8, DType::u16, DType::u32, DType::u64};
  return t;
}
const std::vector<DType>& all_numbers() {
  static const std::vector<DType> t = [] {
    std::vector<DType> all = all_floats();
    all.insert(all.end(), all_integers().begin(), all_integers().end());
    return all;
  }();
  return t;
}
const std::vector<DType>& all_types() {
  static const std::vector<DType> t = [] {
    std::vector<DType> all = all_numbers();
    all.push_back(DType::boolean);
    return all;
  }();
  return t;
}

const std::vector<DType>& movable_types() {
  static const std::vector<DType> t = [] {
    std::vector<DType> all = all_types();
    all.insert(all.end(), {DType::string, DType::string});
    return all;
  }();
  return t;
}

DType some_float(Builder& b) {
  return b.rng.chance(0.9) ? b.main_type() : b.rng.pick(all_floats());
}

namespace {

// Functions of one operand: what they do to magnitudes, and which need something of their operand.
struct UnaryRow {
  std::string_view op;
  double (*magnitude)(double);
  double limit = 1e3;     // the largest operand
  bool positive = false;  // operand
  bool makes_positive = false;
  bool rounds = true;
  bool bf16 = true;
};
double same(double x) {
  return x;
}
double one(double) {
  return 1;
}
const UnaryRow unary_rows[] = {
    {"Abs", same, 1e6, false, false, false},
    {"Neg", same, 1e6, false, false, false},
    {"Relu", same, 1e6, false, false, false},
    {"Identity", same, 1e6, false, false, false},
    {"Sigmoid", one},
    {"Tanh", one},
    {"Erf", one},
    {"Softplus", [](double x) { return x + 1; }, 1e3, false, false, true, false},
    {"Softsign", one, 1e3, false, false, true, false},
    {"Sqrt", [](double x) { return x + 1; }, 1e3, true, true},
    {"Exp", [](double x) { return std::exp(x); }, 4, false, true},
    {"Log", [](double x) { return x + 5; }, 1e3, true},
    {"Reciprocal", [](double) { return 100.0; }, 1e3, true},
    {"Sin", one, 64, false, false, true, false},
    {"Cos", one, 64, false, false, true, false},
    {"Tan", [](double) { return 20.0; }, 1.3, false, false, true, false},
    {"Atan", [](double) { return 1.6; }, 1e3, false, false, true, false},
    {"Asinh", same, 1e3, false, false, true, false},
    {"Sinh", [](double x) { return std::exp(x); }, 4, false, false, true, false},
    {"Cosh", [](double x) { return std::exp(x); }, 4, false, true, true, false},
    {"LeakyRelu", same},
    {"Elu", same, 1e3, false, false, true, false},
    {"Selu", [](double x) { return 2 * x + 2; }, 1e3, false, false, true, false},
    {"Celu", [](double x) { return x + 1; }, 1e3, false, false, true, false},
    {"HardSigmoid", one, 1e3, false, false, true, false},
    {"HardSwish", same, 1e3, false, false, true, false},
    {"Mish", same, 1e3, false, false, true, false},
    {"Gelu", same, 1e3},
};
// Discontinuous ones.
const UnaryRow stepping_rows[] = {
    {"Floor", [](double x) { return x + 1; }},
    {"Ceil", [](double x) { return x + 1; }},
    {"Round", [](double x) { return x + 1; }},
    {"Sign", one},
};

Attributes attributes_of(Builder& b, std::string_view op) {
  Attributes a;
  const bool given = b.rng.chance(0.6);
  if (op == "LeakyRelu" && given) a.push_back(b.number("alpha", b.rng.real(-0.5, 1.5)));
  if ((op == "Elu" || op == "Celu") && given) a.push_back(b.number("alpha", b.rng.real(0.25, 2)));
  if (op == "HardSigmoid" && given) {
    a.push_back(b.number("alpha", b.rng.real(0.1, 0.5)));
    a.push_back(b.number("beta", b.rng.real(0.2, 0.7)));
  }
  if (op == "Gelu" && given) a.push_back(Builder::text("approximate", "tanh"));
  return a;
}

DrawnValue unary_of(Builder& b, const UnaryRow& row, const DrawnValue& x) {
  return b.add(row.op, {x}, attributes_of(b, row.op),
               {x.dtype, x.dims, row.magnitude(x.most), row.rounds, false, row.makes_positive});
}

bool allowed(const Builder& b, const UnaryRow& row, const DrawnValue& x) {
  if (row.op == "Gelu" && b.opset() < 20) return false;
  if (x.dtype == DType::bf16 && !row.bf16) return false;
  return x.most <= row.limit && (!row.positive || x.positive) && (!x.wild || row.limit >= 1e3);
}

bool unary(Builder& b) {
  const DrawnValue x = b.take({.types = {some_float(b)}, .tame = b.rng.chance(0.8)});
  const UnaryRow& row = unary_rows[b.rng.below(std::size(unary_rows))];
  if (!allowed(b, row, x)) return false;
  if (x.wild && row.rounds && row.op != "Sigmoid" && row.op != "Tanh") return false;
  unary_of(b, row, x);
  return true;
}

bool unary_positive(Builder& b) {
  const DrawnValue x = b.take({.types = {some_float(b)}, .positive = true});
  if (!x.positive) return false;
  const UnaryRow& row = unary_rows[b.rng.below(std::size(unary_rows))];
  if (!row.positive || !allowed(b, row, x)) return false;
  unary_of(b, row, x);
  return true;
}

bool stepping(Builder& b) {
  const DrawnValue x =
      b.take({.types = ordinary_floats(), .exact = true, .tame = b.rng.chance(0.7)});
  if (!x.exact) return false;
  const UnaryRow& row = stepping_rows[b.rng.below(std::size(stepping_rows))];
  b.add(row.op, {x}, {}, {x.dtype, x.dims, row.magnitude(x.most), false, true});
  return true;
}

bool integer_unary(Builder& b) {
  const DrawnValue x = b.take({.types = all_integers(), .tame = b.rng.chance(0.7)});
  std::vector<std::string_view> ops = {"Abs", "Sign", "BitwiseNot", "Identity"};
  if (!is_unsigned(x.dtype)) ops.insert(ops.end(), {"Neg", "Relu"});
  b.add(b.rng.pick(ops), {x}, {}, {x.dtype, x.dims, x.most, false});
  return true;
}

bool asks_what_it_is(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .exact = true, .tame = false});
  if (!x.exact) return false;
  b.add(b.rng.chance(0.5) ? "IsNaN" : "IsInf", {x}, {}, {DType::boolean, x.dims, 1, false, true});
  return true;
}

bool clip(Builder& b) {
  const std::vector<DType>& types = all_numbers();
  const DrawnValue x = b.take({.types = types, .tame = b.rng.chance(0.8)});
  const bool whole = is_integer(x.dtype);
  Values in = {x, Builder::none(), Builder::none()};
  if (b.rng.chance(0.8)) in[1] = b.scalar(x.dtype, whole ? b.rng.between(0, 3) : b.rng.real(-2, 0));
  if (b.rng.chance(0.8)) in[2] = b.scalar(x.dtype, whole ? b.rng.between(4, 9) : b.rng.real(0, 6));
  b.add("Clip", in, {}, {x.dtype, x.dims, std::max(x.most, 6.0), false});
  return true;
}

bool shrinking(Builder& b) {
  const DrawnValue x = b.take({.types = {DType::f32}, .exact = true});
  if (!x.exact) return false;
  if (b.rng.chance(0.5)) {
    b.add("ThresholdedRelu", {x}, {b.number("alpha", 0.3)}, {x.dtype, x.dims, x.most, false, true});
  } else {
    b.add("Shrink", {x}, {b.number("lambd", 0.4), b.number("bias", 0.25)},
          {x.dtype, x.dims, x.most, true, true});
  }
  return true;
}

// The dims that two operands come to; nothing when they do not fit.
std::optional<Extents> broadcast(const Extents& a, const Extents& b) {
  Extents out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Extent x = i < a.size() ? a[a.size() - 1 - i] : fixed(1);
    const Extent y = i < b.size() ? b[b.size() - 1 - i] : fixed(1);
    Extent& e = out[out.size() - 1 - i];
    if (x == y || y == fixed(1)) {
      e = x;
    } else if (x == fixed(1)) {
      e = y;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Two operands of a type, in either order.
struct Pair {
  DrawnValue a;
  DrawnValue b;
  Extents dims;
};
std::optional<Pair> two_operands(Builder& b, const Want& want) {
  const DrawnValue x = b.take(want);
  const DrawnValue y = b.take_broadcast(x.dtype, x.dims, want);
  if (want.exact && !(x.exact && y.exact)) return std::nullopt;
  const auto dims = broadcast(x.dims, y.dims);
  if (!dims || !b.fits(*dims)) return std::nullopt;
  return b.rng.chance(0.5) ? Pair{x, y, *dims} : Pair{y, x, *dims};
}

bool arithmetic(Builder& b) {
  const auto p = two_operands(b, {.types = {some_float(b)}, .tame = b.rng.chance(0.95)});
  if (!p) return false;
  const DrawnValue& x = p->a;
  const DrawnValue& y = p->b;
  struct Row {
    std::string_view op;
    double most;
    bool rounds;
  };
  const Row row = b.rng.pick(std::vector<Row>{{"Add", x.most + y.most, true},
                                              {"Add", x.most + y.most, true},
                                              {"Sub", x.most + y.most, true},
                                              {"Mul", x.most * y.most, true},
                                              {"Mul", x.most * y.most, true},
                                              {"Max", std::max(x.most, y.most), false},
                                              {"Min", std::max(x.most, y.most), false}});
  if ((x.wild || y.wild) && row.op != "Max" && row.op != "Min" && row.op != "Mul") return false;
  const bool positive = x.positive && y.positive && row.op != "Sub" && row.op != "Mul";
  b.add(row.op, {x, y}, {}, {x.dtype, p->dims, row.most, row.rounds, false, positive});
  return true;
}

bool division(Builder& b) {
  const DrawnValue x = b.take({.types = {some_float(b)}});
  const DrawnValue y = b.take_broadcast(x.dtype, x.dims, {.positive = true});
  if (!y.positive) return false;
  b.add("Div", {x, y}, {}, {x.dtype, x.dims, x.most * 4});
  return true;
}

bool power(Builder& b) {
  const double exponent = b.rng.pick(std::vector<double>{2, 2, 3, 1, 0, 0.5, -1, -0.5, 1.5, 4});
  const bool any_sign = exponent >= 0 && exponent == std::floor(exponent);
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())}, .positive = !any_sign});
  if ((!any_sign && !x.positive) || x.most > 10) return false;
  const DType type = b.rng.chance(0.7) ? x.dtype : DType::f32;
  b.add("Pow", {x, b.steady(b.scalar(type, exponent))}, {},
        {x.dtype, x.dims, std::pow(std::max(x.most, 10.0), std::abs(exponent))});
  return true;
}

bool integer_arithmetic(Builder& b) {
  const auto p = two_operands(b, {.types = all_integers(), .tame = b.rng.chance(0.7)});
  if (!p) return false;
  std::vector<std::string_view> ops = {"Add", "Sub", "Mul",        "Div",       "Max",
                                       "Min", "Mod", "BitwiseAnd", "BitwiseOr", "BitwiseXor"};
  if (is_unsigned(p->a.dtype)) ops.push_back("BitShift");
  const std::string_view op = b.rng.pick(ops);
  Attributes a;
  if (op == "Mod" && b.rng.chance(0.4)) a.push_back(Builder::integer("fmod", 1));
  if (op == "BitShift")
    a.push_back(Builder::text("direction", b.rng.chance(0.5) ? "LEFT" : "RIGHT"));
  b.add(op, {p->a, p->b}, a, {p->a.dtype, p->dims, 9, false});
  return true;
}

bool variadic(Builder& b) {
  const DrawnValue x = b.take({.types = {some_float(b)}});
  Values in = {x};
  Extents dims = x.dims;
  double sum = x.most;
  double largest = x.most;
  for (std::int64_t n = b.rng.between(0, 3); n > 0; --n) {
    in.push_back(b.take_broadcast(x.dtype, x.dims));
    sum += in.back().most;
    largest = std::max(largest, in.back().most);
  }
  const std::string_view op =
      b.rng.pick(std::vector<std::string_view>{"Sum", "Mean", "Max", "Min"});
  b.add(op, in, {}, {x.dtype, dims, op == "Sum" ? sum : largest, op == "Sum" || op == "Mean"});
  return true;
}

bool comparison(Builder& b) {
  const auto p =
      two_operands(b, {.types = all_numbers(), .exact = true, .tame = b.rng.chance(0.7)});
  if (!p) return false;
  const std::string_view op = b.rng.pick(
      std::vector<std::string_view>{"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"});
  b.add(op, {p->a, p->b}, {}, {DType::boolean, p->dims, 1, false, true});
  return true;
}

bool logic(Builder& b) {
  if (b.rng.chance(0.3)) {
    const DrawnValue x = b.take({.types = {DType::boolean}});
    b.add("Not", {x}, {}, {DType::boolean, x.dims, 1, false});
    return true;
  }
  const auto p = two_operands(b, {.types = {DType::boolean}});
  if (!p) return false;
  b.add(b.rng.pick(std::vector<std::string_view>{"And", "Or", "Xor", "Equal"}), {p->a, p->b}, {},
        {DType::boolean, p->dims, 1, false});
  return true;
}

bool where(Builder& b) {
  const auto p = two_operands(b, {.types = movable_types(), .tame = b.rng.chance(0.7)});
  if (!p) return false;
  const DrawnValue condition = b.take_broadcast(DType::boolean, p->dims);
  b.add("Where", {condition, p->a, p->b}, {},
        {p->a.dtype, p->dims, std::max(p->a.most, p->b.most), false});
  return true;
}

// Floats that become integers or truth values must be exact; narrower floats round.
bool cast(Builder& b) {
  const DType to = b.rng.pick(all_types());
  const DrawnValue x = b.take(
      {.types = all_types(), .exact = !is_float(to), .tame = is_float(to) || b.rng.chance(0.7)});
  if (!is_float(to) && !x.exact) return false;
  const bool jumps = is_float(x.dtype) && !is_float(to);
  const bool widens = to == DType::f64 || x.dtype == to;
  const double most = is_float(to) ? (is_float(x.dtype) ? x.most : 1e9) : 9;
  const bool rounds = is_float(to) && !(widens && is_float(x.dtype)) && x.dtype != DType::boolean;
  b.add("Cast", {x}, {Builder::integer("to", onnx::onnx_type_of(to))},
        {to, x.dims, x.dtype == DType::boolean ? 1 : most, rounds, jumps});
  return true;
}

bool prelu(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())}, .least_rank = 1});
  Extents slope = x.dims;
  if (b.rng.chance(0.6)) {
    for (Extent& e : slope) e = fixed(1);
    if (x.rank() > 1) slope[1] = x.dims[1];
    if (x.rank() > 2 && b.rng.chance(0.5)) slope.erase(slope.begin());
  }
  const DrawnValue s = b.take_like(x.dtype, slope);
  b.add("PRelu", {x, s}, {}, {x.dtype, x.dims, std::max(x.most, x.most * s.most)});
  return true;
}

bool dropout(Builder& b) {
  const DrawnValue x = b.take({.types = {b.rng.pick(ordinary_floats())}});
  const auto out = b.add_many("Dropout", {x}, {}, {{x.dtype, x.dims, x.most, false}});
  return !out.empty();
}

// Brings large numbers back.
bool squash(Builder& b) {
  const auto x = b.find([](const DrawnValue& v) {
    return !v.wild && v.most > 64 && (v.dtype == DType::f32 || v.dtype == DType::f64);
  });
  if (!x) return false;
  b.add("Mul", {*x, b.scalar(x->dtype, 1 / x->most)}, {}, {x->dtype, x->dims, 1});
  return true;
}

constexpr std::array elementwise_table = {
    Family{"unary", 8, unary},
    Family{"unary-positive", 4, unary_positive},
    Family{"stepping", 1.5, stepping},
    Family{"integer-unary", 1.5, integer_unary},
    Family{"is-nan-or-inf", 0.6, asks_what_it_is},
    Family{"clip", 2, clip},
    Family{"shrink", 0.6, shrinking},
    Family{"arithmetic", 9, arithmetic},
    Family{"division", 1.5, division},
    Family{"power", 1.5, power},
    Family{"integer-arithmetic", 3, integer_arithmetic},
    Family{"variadic", 1.5, variadic},
    Family{"comparison", 1.5, comparison},
    Family{"logic", 1.2, logic},
    Family{"where", 2, where},
    Family{"cast", 3, cast},
    Family{"prelu", 0.8, prelu},
    Family{"dropout", 0.3, dropout},
    Family{"squash", 1.5, squash},
};

}  // namespace

std::span<const Family> elementwise_families() {
  return elementwise_table;
}

DrawnValue activated(Builder& b, const DrawnValue& x) {
  for (int tries = 0; tries < 10; ++tries) {
    const UnaryRow& row = unary_rows[b.rng.below(std::size(unary_rows))];
    if (row.magnitude(4) <= 12 && !row.positive && allowed(b, row, x)) return unary_of(b, row, x);
  }
  return b.add("Relu", {x}, {}, {x.dtype, x.dims, x.most, false});
}

}  // namespace quern::tools
