// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/einsum.h"

#include "tests/expect.h"
#include "tests/kernels/op_test.h"

namespace quern::testing {
namespace {

using ::testing::ElementsAre;

const Tensor m22 = tensor<float>({2, 2}, {1, 2, 3, 4});
const Tensor m23 = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});

Tensor einsum(const std::string& equation, const std::vector<Tensor>& inputs) {
  return run(Einsum{equation}, inputs);
}
std::vector<float> of(const std::string& equation, const std::vector<Tensor>& inputs) {
  return values<float>(einsum(equation, inputs));
}

TEST(Einsum, Products) {
  EXPECT_ELEMENTS(of("ij,jk->ik", {m22, m23}), 9, 12, 15, 19, 26, 33);
  EXPECT_ELEMENTS(of("ij,ij->", {m22, m22}), 30);
  EXPECT_ELEMENTS(of("i,j->ij", {tensor<float>({2}, {1, 2}), tensor<float>({2}, {3, 4})}), 3, 4, 6,
                  8);
  EXPECT_ELEMENTS(of("i,i,i->", {tensor<float>({2}, {1, 2}), tensor<float>({2}, {3, 4}),
                                 tensor<float>({2}, {5, 6})}),
                  63);
}

TEST(Einsum, TransposesSumsAndDiagonals) {
  EXPECT_ELEMENTS(of("ij->ji", {m23}), 1, 4, 2, 5, 3, 6);
  EXPECT_ELEMENTS(of("ij->i", {m23}), 6, 15);
  EXPECT_ELEMENTS(of("ii->i", {m22}), 1, 4);
  EXPECT_ELEMENTS(of("ii", {m22}), 5);
  const Tensor cube = tensor<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_ELEMENTS(of("iji->ij", {cube}), 1, 3, 6, 8);
}

TEST(Einsum, ImplicitOutputIsInOrderOfTheLabels) {
  EXPECT_ELEMENTS(of("ba", {m23}), 1, 4, 2, 5, 3, 6);
  EXPECT_ELEMENTS(of("aB", {m23}), 1, 4, 2, 5, 3, 6);  // capitals come first
  EXPECT_ELEMENTS(of("ij , jk", {m22, m23}), 9, 12, 15, 19, 26, 33);
  EXPECT_ELEMENTS(of("...b,b...", {m22, m22}), 7, 22);
}

TEST(Einsum, EllipsisBroadcasts) {
  const Tensor x = tensor<float>({2, 1, 2}, {1, 2, 3, 4});
  const Tensor y = tensor<float>({3, 2}, {1, 1, 2, 2, 3, 3});
  const Tensor z = einsum("...i,...i->...", {x, y});
  EXPECT_EQ(z.shape(), Shape({2, 3}));
  EXPECT_ELEMENTS(values<float>(z), 3, 6, 9, 7, 14, 21);
  EXPECT_ELEMENTS(of("i...->...i", {m23}), 1, 4, 2, 5, 3, 6);
  EXPECT_ELEMENTS(of("...", {m23}), 1, 2, 3, 4, 5, 6);
  EXPECT_ELEMENTS(of("...i->i", {m23}), 5, 7, 9);
}

TEST(Einsum, DimensionsOfOneBroadcast) {
  EXPECT_ELEMENTS(of("ij,ij->ij", {m22, tensor<float>({2, 1}, {10, 100})}), 10, 20, 300, 400);
}

TEST(Einsum, EmptySumsAndEmptyOutputs) {
  EXPECT_ELEMENTS(of("ij,jk->ik", {tensor<float>({1, 0}, {}), tensor<float>({0, 2}, {})}), 0, 0);
  EXPECT_EQ(einsum("ij->ij", {tensor<float>({0, 2}, {})}).shape(), Shape({0, 2}));
}

TEST(Einsum, Scalars) {
  EXPECT_ELEMENTS(of(",->", {tensor<float>({}, {3}), tensor<float>({}, {4})}), 12);
  EXPECT_ELEMENTS(of("", {tensor<float>({}, {3})}), 3);
}

TEST(Einsum, OtherTypes) {
  const Tensor x = tensor<std::int8_t>({2}, {100, 28});
  EXPECT_ELEMENTS(values<std::int8_t>(einsum("i->", {x})), -128);
  const Tensor h = tensor<Half>({3}, {Half(2048.0f), Half(1.0f), Half(1.0f)});
  EXPECT_THAT(values<Half>(einsum("i->", {h})), ElementsAre(2050.0f));
}

TEST(Einsum, UnknownShapesLeaveTheRank) {
  const Op op = Einsum{"ij,jk->ik"};
  const InferInput unknown{true, ValueType(DType::f32, std::nullopt), nullptr};
  const InferInput known{true, ValueType(DType::f32, Dims{3, 4}), nullptr};
  const auto dims = [](const Op& o, const std::vector<InferInput>& in) {
    InferContext c(o, "Einsum", "test", in, 1);
    EXPECT_TRUE(Einsum::def().infer(c).ok());
    return c.outputs()[0].dims;
  };
  EXPECT_EQ(dims(op, {unknown, known}), (Dims{Dim(), 4}));
  EXPECT_EQ(dims(Einsum{"...j,jk->...k"}, {unknown, known}), std::nullopt);
}

TEST(Einsum, RefusesMalformedEquations) {
  const auto message = [](const std::string& e, const std::vector<Tensor>& in) {
    return error_of(Einsum{e}, in);
  };
  EXPECT_CONTAINS(message("ij,jk", {m22}), "has 2 operands, the node has 1");
  EXPECT_CONTAINS(message("i1->i", {m22}), "malformed operand 0");
  EXPECT_CONTAINS(message("i..->i", {m22}), "malformed operand 0");
  EXPECT_CONTAINS(message("......", {m22}), "malformed operand 0");
  EXPECT_CONTAINS(message("ij->k", {m22}), "malformed output");
  EXPECT_CONTAINS(message("ij->ii", {m22}), "malformed output");
  EXPECT_CONTAINS(message("ij->i->j", {m22}), "malformed output");
  EXPECT_CONTAINS(message("ijk", {m22}), "does not have the rank of its subscripts");
  EXPECT_CONTAINS(message("ijk...", {m22}), "does not have the rank of its subscripts");
  EXPECT_CONTAINS(message("ii", {m23}), "has 3 in dimension 1, another operand has 2");
  EXPECT_CONTAINS(message("abcdefghijklmnopq", {m22}), "malformed operand 0");
  const Tensor one = tensor<float>({1}, {1});
  EXPECT_CONTAINS(error_of(Einsum{"a,b,c->"}, {one, absent(), one}), "input 1 is left out");
  const Shape nine = Shape::filled(9, 1);
  EXPECT_CONTAINS(
      error_of(Einsum{"abcdefghi,jklmnopqr"}, {tensor<float>(nine, {1}), tensor<float>(nine, {1})}),
      "gives 18 dimensions");
}

}  // namespace
}  // namespace quern::testing
