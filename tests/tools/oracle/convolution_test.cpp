// SPDX-License-Identifier: Apache-2.0
// The oracle's own convolution gives the numbers of the operator's reference, bit by bit: it adds
// the same terms in the same order.
#include "tools/oracle/convolution.h"

#include <random>

#include "graph/evaluate.h"
#include "tests/tools/oracle/judging.h"

namespace quern::testing {
namespace {

Shape shape_of(const Graph& g, ValueId v) {
  return *g.type(v).shape();
}

void expect_equal_to_reference(std::string_view text) {
  const Graph g = graph_of(text);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<Tensor> operands;
  for (const ValueId v : g.inputs()) {
    std::vector<double> numbers(static_cast<std::size_t>(shape_of(g, v).elements()));
    for (double& x : numbers) x = draw(random);
    operands.push_back(Tensor::from_values<double>(DType::f64, shape_of(g, v), numbers));
  }
  const TensorType type{DType::f64, shape_of(g, g.outputs()[0])};
  const auto wanted = evaluate(g.ops(), g.node(g.order()[0]).op, {}, operands, {}, {&type, 1});
  ASSERT_TRUE(wanted) << wanted.error().message();
  ASSERT_TRUE(tools::are_f64(operands));
  std::vector<OracleInput> inputs;
  for (const Tensor& t : operands) inputs.push_back({.tensors = {t}});
  const auto got = tools::evaluate_with_bounds(g, inputs, {});
  ASSERT_TRUE(got) << got.error().message();
  const Tensor& value = (*got)[0].tensors[0].value;
  EXPECT_TRUE(std::ranges::equal(value.span<double>(), (*wanted)[0].span<double>())) << text;
}

TEST(OracleOnConvolutions, AddsWhatTheReferenceAdds) {
  for (const char* text :
       {"input %0 \"x\": f64[2,3,7]\ninput %1 \"w\": f64[4,3,3]\ninput %2 \"b\": f64[4]\n"
        "%3: f64[2,4,4] = Conv(%0, %1, %2) kernel=[3] strides=[2] pads=[1,1]\noutput %3 \"y\"",
        "input %0 \"x\": f64[1,4,6,5]\ninput %1 \"w\": f64[6,2,2,3]\n"
        "%2: f64[1,6,7,4] = Conv(%0, %1) kernel=[2,3] pads=[2,2,1,1] dilations=[2,2] group=2\n"
        "output %2 \"y\"",
        "input %0 \"x\": f64[2,4,9,9]\ninput %1 \"w\": f64[4,1,3,3]\n"
        "%2: f64[2,4,3,5] = Conv(%0, %1) kernel=[3,3] strides=[3,2] pads=[0,1,0,1] group=4\n"
        "output %2 \"y\"",
        "input %0 \"x\": f64[1,2,3,4,5]\ninput %1 \"w\": f64[3,2,2,2,2]\n"
        "%2: f64[1,3,2,3,3] = Conv(%0, %1) kernel=[2,2,2] strides=[1,1,2] pads=[0,0,1,0,0,1]\n"
        "output %2 \"y\"",
        "input %0 \"x\": f64[1,1,2,2]\ninput %1 \"w\": f64[1,1,1,1]\n"
        "%2: f64[1,1,8,8] = Conv(%0, %1) kernel=[1,1] pads=[3,3,3,3]\noutput %2 \"y\""})
    expect_equal_to_reference(text);
}

TEST(OracleOnConvolutions, TakesNothingButF64) {
  const Tensor wide = Tensor::zeros({DType::f64, {1}}).value();
  const Tensor narrow = Tensor::zeros({DType::i32, {1}}).value();
  EXPECT_TRUE(tools::are_f64(std::vector<Tensor>{wide, Tensor(), wide}));
  EXPECT_FALSE(tools::are_f64(std::vector<Tensor>{wide, narrow}));
}

}  // namespace
}  // namespace quern::testing
