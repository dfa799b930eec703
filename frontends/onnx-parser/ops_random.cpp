// SPDX-License-Identifier: Apache-2.0
// Random numbers. The specification does not define the generator. With a seed, nodes draw what
// ONNX's reference draws; those without have seeds of their own and our generator.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/binary_kind.h"
#include "graph/ops/cast.h"
#include "graph/ops/random.h"

namespace quern::onnx {
namespace {

Random random_op(NodeImport& n, RandomKind kind, DType dtype) {
  const bool uniform = kind == RandomKind::uniform;
  Random op{.kind = kind,
            .dtype = n.dtype_attribute("dtype", dtype),
            .low_or_mean = uniform ? n.number("low", 0) : n.number("mean", 0),
            .high_or_scale = uniform ? n.number("high", 1) : n.number("scale", 1),
            .seed = n.seed()};
  if (const auto seed = n.reference_seed()) {
    op.generator = RandomGenerator::mersenne;
    op.seed = *seed;
  }
  return op;
}

template <RandomKind Kind>
void import_random(NodeImport& n) {
  if (!n.has_attribute("shape")) return n.fail("attribute 'shape' is missing");
  const Random op = random_op(n, Kind, DType::f32);
  n.emit(op, {n.ints_constant(n.ints("shape"))});
}

template <RandomKind Kind>
void import_random_like(NodeImport& n) {
  const Random op = random_op(n, Kind, n.dtype(n.in(0)));
  n.emit(op, {shape_of(n, n.in(0))});
}

// NumPy's RandomState(seed).binomial(1, chance) inverts the distribution of the less likely of
// both: it is u > 1 - p for p up to 1/2, and u <= p above.
ValueId drawn_as_by_numpy(NodeImport& n, ValueId chance, std::uint32_t seed) {
  const Random uniform{.generator = RandomGenerator::mersenne, .dtype = DType::f64, .seed = seed};
  const ValueId u = n.add(uniform, {shape_of(n, chance)});
  const ValueId p = cast(n, chance, DType::f64);
  const ValueId rest = sub(n, n.scalar(DType::f64, 1), p);
  const ValueId is_rare = binary(n, BinaryKind::less_equal, p, n.scalar(DType::f64, 0.5));
  const ValueId rare = binary(n, BinaryKind::greater, u, rest);
  const ValueId frequent = binary(n, BinaryKind::less_equal, u, p);
  return where(n, is_rare, rare, frequent);
}

// 1 with the probability given by the input.
void import_bernoulli(NodeImport& n) {
  const ValueId chance = n.in(0);
  const DType dtype = n.dtype_attribute("dtype", n.dtype(chance));
  const Random uniform{.kind = RandomKind::uniform, .dtype = n.dtype(chance), .seed = n.seed()};
  if (const auto seed = n.reference_seed())
    return n.set(0, n.add(Cast{.to = dtype}, {drawn_as_by_numpy(n, chance, *seed)}));
  const ValueId samples = n.add(uniform, {shape_of(n, chance)});
  n.set(0, n.add(Cast{.to = dtype}, {binary(n, BinaryKind::less, samples, chance)}));
}

void import_multinomial(NodeImport& n) {
  n.emit(Multinomial{.dtype = n.dtype_attribute("dtype", DType::i32),
                     .sample_size = n.integer("sample_size", 1),
                     .seed = n.seed()},
         {n.in(0)});
}

constexpr OpRow random_rows[] = {
    {"Bernoulli", 15, import_bernoulli},
    {"Multinomial", 7, import_multinomial},
    {"RandomNormal", 1, import_random<RandomKind::normal>, none},
    {"RandomNormalLike", 1, import_random_like<RandomKind::normal>},
    {"RandomUniform", 1, import_random<RandomKind::uniform>, none},
    {"RandomUniformLike", 1, import_random_like<RandomKind::uniform>},
};

}  // namespace

OpRows random_ops() {
  return random_rows;
}

}  // namespace quern::onnx
