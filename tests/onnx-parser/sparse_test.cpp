// SPDX-License-Identifier: Apache-2.0
// Sparse tensors and merged messages, through whole models.
#include "tests/expect.h"
#include "tests/onnx-parser/import_test.h"

namespace quern::onnx_test {
namespace {

Message sparse(const Message& values, const Message& indices,
               std::initializer_list<std::int64_t> dims) {
  Message m;
  m.message(1, values).message(2, indices);
  for (std::int64_t d : dims) m.number(3, d);
  return m;
}
std::string model_with(const Message& tensor) {
  return make_model(GraphParts{.nodes = {node("Identity", {"w"}, {"y"})},
                               .outputs = {Message().text(1, "y")},
                               .sparse_initializers = {tensor}});
}

TEST(Sparse, LinearIndicesExpand) {
  EXPECT_CONTAINS(
      imported(model_with(sparse(floats("w", {2}, {5, 6}), ints("", {2}, {1, 3}), {2, 2}))),
      "const %0: f32[2,2] = {0, 5, 0, 6}");
}

TEST(Sparse, IndicesOfEveryDimensionExpand) {
  EXPECT_CONTAINS(imported(model_with(
                      sparse(floats("w", {2}, {5, 6}), ints("", {2, 2}, {0, 1, 1, 0}), {2, 2}))),
                  "const %0: f32[2,2] = {0, 5, 6, 0}");
}

TEST(Sparse, ConstantNodesMayBeSparse) {
  const Message value = sparse(floats("", {1}, {5}), ints("", {1}, {1}), {2});
  EXPECT_CONTAINS(
      imported(make_model(GraphParts{
          .nodes = {node("Constant", {}, {"c"}, {attribute("sparse_value", 11).message(22, value)}),
                    node("Identity", {"c"}, {"y"})},
          .outputs = {Message().text(1, "y")}})),
      "f32[2] = {0, 5}");
}

TEST(Sparse, MistakesAreNamed) {
  const Message two = floats("w", {2}, {5, 6});
  EXPECT_CONTAINS(error_of(model_with(sparse(two, ints("", {2}, {1, 4}), {2, 2}))),
                  "tensor 'w': sparse tensor: an index is out of range");
  EXPECT_CONTAINS(error_of(model_with(sparse(two, ints("", {2}, {1, -1}), {2, 2}))),
                  "an index is out of range");
  EXPECT_CONTAINS(error_of(model_with(sparse(two, ints("", {2, 2}, {0, 0, 2, 0}), {2, 2}))),
                  "an index is out of range");
  EXPECT_CONTAINS(error_of(model_with(sparse(two, ints("", {1}, {1}), {2, 2}))),
                  "indices are i64[1], wants [2] or [2,2]");
  EXPECT_CONTAINS(error_of(model_with(sparse(two, floats("", {2}, {0, 1}), {2, 2}))),
                  "indices must be INT64");
  EXPECT_CONTAINS(error_of(model_with(sparse(floats("w", {}, {5}), ints("", {1}, {0}), {2}))),
                  "values must be a list");
}

TEST(Sparse, TheDenseFormIsBounded) {
  EXPECT_CONTAINS(error_of(model_with(
                      sparse(floats("w", {1}, {5}), ints("", {1}, {1}), {std::int64_t{1} << 40}))),
                  "past the import's budget");
}

TEST(Merging, ATensorInTwoPiecesIsOne) {
  const Message first = tensor_header("w", i64, {2}).packed(7, {4});
  const Message second = Message().packed(7, {5});
  const Message constant = attribute("value", 4).message(5, first).message(5, second);
  EXPECT_CONTAINS(imported(make_model(GraphParts{.nodes = {node("Constant", {}, {"c"}, {constant}),
                                                           node("Identity", {"c"}, {"y"})},
                                                 .outputs = {Message().text(1, "y")}})),
                  "i64[2] = {4, 5}");
}

}  // namespace
}  // namespace quern::onnx_test
