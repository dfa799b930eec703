// SPDX-License-Identifier: Apache-2.0
// Products by dequantised weights: of few rows they read the weights as they are, of many in f32,
// and both are the product of the dequantised weights.
#include <string>

#include "graph/ops/quantize.h"
#include "kernels/contract/integer_products.h"
#include "tests/engine/engine_test.h"
#include "tests/graph/named_op.h"

namespace quern::testing {
namespace {

constexpr std::int64_t depth = 320, columns = 240;

struct Form {
  std::string name;
  DType type = DType::i8;
  bool transposed = false;
  Shape scales = {};  // of one for all
  std::int64_t axis = 1;
  std::int64_t block_size = 0;
  int zero = -1;  // none
  bool is_kept = true;
};

Tensor some_numbers(DType type, const Shape& shape) {
  Tensor t = must(Tensor::zeros({type, shape}));
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const auto v = static_cast<int>(i * 37 % 251);
    t.mutable_data()[i] = static_cast<std::byte>(type == DType::i4 ? v % 16 - 8 : v);
  }
  return t;
}

Tensor small_scales(const Shape& shape) {
  Tensor t = pattern(shape, 5);
  auto* data = reinterpret_cast<float*>(t.mutable_data());
  for (std::int64_t i = 0; i < shape.elements(); ++i) data[i] = (data[i] + 0.6F) / 128;
  return t;
}

Model model_of(const Form& f) {
  GraphBuilder g(f.name);
  const Operand x = g.input("x", DType::f32, {"rows", depth});
  const Shape shape = f.transposed ? Shape({columns, depth}) : Shape({depth, columns});
  Operands of = {g.constant(some_numbers(f.type, shape)), g.constant(small_scales(f.scales))};
  if (f.zero >= 0) {
    Tensor zeros = must(Tensor::zeros({f.type, f.scales}));
    for (std::size_t i = 0; i < zeros.bytes(); ++i)
      zeros.mutable_data()[i] = static_cast<std::byte>(f.zero);
    of.push_back(g.constant(zeros));
  }
  const Operand w = g.op(Dequantize{.axis = f.axis, .block_size = f.block_size}, of);
  const Operand y = g.op(named("MatMul", f.transposed ? "transpose_b=true" : ""), {x, w});
  g.output("y", g.relu(g.add(y, g.constant(pattern({columns}, 3)))));
  return must(g.build());
}

std::vector<float> run_with(const std::shared_ptr<const Executable>& e, std::int64_t rows) {
  const auto session = session_of(e, 1);
  const Tensor x = pattern({rows, depth}, 2);
  must(session->set_input(0, x.view()));
  must(session->run());
  return values(must(session->output(0)));
}

bool reads_few_bits(const Session& session) {
  const PlanInfo plan = session.plan_info();
  return std::ranges::any_of(
      plan.steps, [](const StepInfo& s) { return s.implementation.starts_with("few bits"); });
}

const Form forms[] = {
    {"OneScale"},
    {"ScalesOfColumns", DType::i8, false, {columns}, 1},
    {"Transposed", DType::i8, true, {columns}, 0},
    {"BlocksOfColumns", DType::i8, false, {depth / 32, columns}, 0, 32},
    {"TransposedBlocks", DType::i8, true, {columns, depth / 64}, 1, 64},
    {"FourBits", DType::i4, true, {columns, depth / 32}, 1, 32},
    {"ZerosOfTheMiddle", DType::u8, false, {columns}, 1, 0, 128},
    {"SignedZeros", DType::i8, false, {columns}, 1, 0, 0},
    {"OtherZeros", DType::u8, false, {columns}, 1, 0, 100, false},
    {"ScalesOfRows", DType::i8, false, {depth}, 0, 0, -1, false},
};

TEST(QuantizedWeights, AreReadAsTheyAreForFewRows) {
  for (const Form& f : forms) {
    SCOPED_TRACE(f.name);
    const auto fast = compile(model_of(f));
    const auto plain = compile(model_of(f), "reference");
    for (const std::int64_t rows : {1, 5, 40}) {
      const std::vector<float> got = run_with(fast, rows), want = run_with(plain, rows);
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << i;
      const auto session = session_of(fast, 1);
      const Tensor x = pattern({rows, depth}, 2);
      must(session->set_input(0, x.view()));
      must(session->run());
      EXPECT_EQ(reads_few_bits(*session), f.is_kept && rows <= rows_faster_by_few_bits())
          << rows << " rows";
    }
  }
}

}  // namespace
}  // namespace quern::testing
