// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include "frontends/onnx-parser/expand.h"
#include "frontends/onnx-parser/node_import.h"
#include "frontends/onnx-parser/op_table.h"
#include "graph/ops/einsum.h"
#include "graph/ops/matmul.h"

namespace quern::onnx {
namespace {

void import_matmul(NodeImport& n) {
  n.emit(MatMul{}, {n.in(0), n.in(1)});
}

// y = alpha a' b' + beta c. `broadcast` (before opset 7) is ignored, since c always broadcasts.
void import_gemm(NodeImport& n) {
  n.ignore("broadcast");
  const MatMul product{.transpose_a = n.flag("transA", Flag::off),
                       .transpose_b = n.flag("transB", Flag::off),
                       .alpha = n.number("alpha", 1)};
  const float beta = n.number("beta", 1);
  for (std::size_t i = 0; i < 2; ++i)
    if (n.rank(n.in(i)).value_or(2) != 2) return n.fail("a and b must be matrices");
  if (!n.has(2) || beta == 0) return n.emit(product, {n.in(0), n.in(1)});
  const ValueId c = beta == 1 ? n.in(2) : mul(n, n.in(2), beta);
  n.set(0, add(n, n.add(product, {n.in(0), n.in(1)}), c));
}

void import_einsum(NodeImport& n) {
  const std::vector<ValueId> inputs(n.inputs().begin(), n.inputs().end());
  n.emit(Einsum{.equation = n.text("equation")}, inputs);
}

constexpr OpRow matrix_rows[] = {
    {"Einsum", 12, import_einsum, {1, any_number}},
    {"Gemm", 1, import_gemm, {2, 3}},
    {"MatMul", 1, import_matmul, {2, 2}},
};

}  // namespace

OpRows matrix_ops() {
  return matrix_rows;
}

}  // namespace quern::onnx
