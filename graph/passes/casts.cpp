// SPDX-License-Identifier: Apache-2.0
// Casts that change nothing, and casts of casts.
#include "graph/numeric.h"
#include "graph/ops/cast.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

// Range and precision of the types that arithmetic is defined on, in bits.
struct Digits {
  int significant = 0;  // of the largest integer below which all are there
  int exponent = 0;     // of the largest magnitude
  bool is_signed = false;
  bool is_float = false;
};
std::optional<Digits> digits(DType t) {
  switch (t) {
    case DType::f32: return Digits{24, 128, true, true};
    case DType::f64: return Digits{53, 1024, true, true};
    case DType::f16: return Digits{11, 16, true, true};
    case DType::bf16: return Digits{8, 128, true, true};
    case DType::i8: return Digits{7, 7, true, false};
    case DType::i16: return Digits{15, 15, true, false};
    case DType::i32: return Digits{31, 31, true, false};
    case DType::i64: return Digits{63, 63, true, false};
    case DType::u8: return Digits{8, 8, false, false};
    case DType::u16: return Digits{16, 16, false, false};
    case DType::u32: return Digits{32, 32, false, false};
    case DType::u64: return Digits{64, 64, false, false};
    case DType::boolean: return Digits{1, 1, false, false};
    default: return std::nullopt;
  }
}

// Every value of `from` is one of `to`. Among floats that takes a greater or equal range of
// exponents below 1 too, which goes with the one above here.
bool is_exact(DType from, DType to) {
  const auto a = digits(from);
  const auto b = digits(to);
  if (!a || !b || to == DType::boolean) return from == to;
  if (a->is_float && !b->is_float) return false;
  if (a->is_signed && !b->is_signed) return false;
  return a->significant <= b->significant && a->exponent <= b->exponent;
}

}  // namespace

// cast(x, its own type)  =>  x
Result<bool> drop_cast(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (n.as<Cast>()->to != g.type(n.inputs[0]).dtype) return false;
  return replace_uses(g, id, n.inputs[0]);
}

// cast(cast(x, b), c)  =>  cast(x, c), where the first cast loses nothing. Integers wrap and floats
// saturate, so integer to float to a narrower integer stays.
Result<bool> merge_casts(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* inner = bare<Cast>(g, n.inputs[0]);
  if (!inner) return false;
  const Cast outer = *n.as<Cast>();
  const DType from = g.type(inner->inputs[0]).dtype;
  const DType between = inner->as<Cast>()->to;
  if (!is_number(outer.to) && outer.to != DType::boolean) return false;
  if (!is_exact(from, between)) return false;
  const bool wraps = is_number_integer(outer.to) && !is_exact(from, outer.to);
  if (wraps && !is_number_float(from) && is_number_float(between)) return false;
  return replace_op(g, id, outer, {inner->inputs[0]});
}

}  // namespace quern::passes
