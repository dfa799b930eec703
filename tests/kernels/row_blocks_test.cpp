// SPDX-License-Identifier: Apache-2.0
// Products in blocks of rows against the product in one piece: constant and variable right-hand
// sides, post-ops with a row of operands or with one for each element.
#include "kernels/contract/row_blocks.h"

#include "graph/ops/binary_kind.h"
#include "graph/ops/matmul.h"
#include "graph/ops/unary.h"
#include "kernels/contract/machine.h"
#include "tests/kernels/kernel_test.h"

namespace quern::testing {
namespace {

Selection all_at_once(const KernelRequest& r) {
  QUERN_ASSIGN(KernelChoice choice, select_cpu_kernel(r));
  return std::optional<KernelChoice>(std::move(choice));
}
template <std::int64_t rows>
Selection by(const KernelRequest& r) {
  return in_row_blocks(r, rows, all_at_once);
}

TEST(RowBlocks, GiveTheProductOfOnePiece) {
  const Op op = MatMul{};
  RandomTensors random(7);
  const std::vector<Tensor> inputs = {random.floats({37, 19}), random.floats({19, 24})};
  const PostOps none;
  const PostOps row = {BinaryPostOp{BinaryKind::add, 0}, Unary{UnaryKind::relu}};
  const PostOps all = {BinaryPostOp{BinaryKind::mul, 0}, BinaryPostOp{BinaryKind::add, 1}};
  struct Chain {
    PostOps post_ops;
    std::vector<Tensor> operands;
  };
  const Chain chains[] = {{none, {}},
                          {row, {random.floats({24})}},
                          {all, {random.floats({37, 24}), random.floats({37, 1})}}};
  std::size_t compared = 0;
  for (const Chain& chain : chains)
    for (const std::vector<std::size_t>& constants :
         {std::vector<std::size_t>{}, std::vector<std::size_t>{1}})
      for (std::size_t taken = 0; taken <= chain.post_ops.size(); ++taken) {
        const PostOps prefix(chain.post_ops.begin(), chain.post_ops.begin() + taken);
        SelectedCase c{op, inputs, prefix, chain.operands, constants};
        const SelectedRun wanted = run_selected(c);
        for (const auto select : {by<1>, by<5>, by<36>}) {
          c.select = select;
          const SelectedRun found = run_selected(c);
          // Other sizes have other kernels, which may take fewer post-ops.
          if (found.implementation.empty() || found.post_ops_taken != taken ||
              wanted.post_ops_taken != taken)
            continue;
          EXPECT_TRUE(found.implementation.ends_with(" in rows")) << found.implementation;
          ++compared;
          const auto y = found.outputs[0].span<float>();
          const auto z = wanted.outputs[0].span<float>();
          for (std::size_t i = 0; i < y.size(); ++i)
            ASSERT_NEAR(y[i], z[i], 1e-4) << "element " << i << ", " << taken << " post-ops";
        }
      }
  // Our own products, which one row is by, take no post-ops.
  EXPECT_GT(compared, kernel_machine().onednn != "none" ? 24U : 15U);
}

TEST(RowBlocks, CutTheBatchBeforeTheRows) {
  struct Case {
    MatMul op;
    Shape a, b;
  };
  const Case cases[] = {{{}, {7, 5, 19}, {7, 19, 24}},
                        {{}, {1, 6, 5, 19}, {3, 1, 19, 24}},
                        {{}, {7, 5, 19}, {19, 24}},
                        {{.transpose_a = true}, {19, 37}, {19, 24}},
                        {{.transpose_a = true, .transpose_b = true}, {6, 19, 5}, {6, 24, 19}}};
  RandomTensors random(8);
  std::size_t compared = 0;
  for (const Case& k : cases) {
    const Op op = k.op;
    const std::vector<Tensor> inputs = {random.floats(k.a), random.floats(k.b)};
    SelectedCase c{op, inputs};
    const SelectedRun wanted = run_selected(c);
    for (const auto select : {by<1>, by<2>, by<4>}) {
      c.select = select;
      const SelectedRun found = run_selected(c);
      if (found.implementation.empty()) continue;
      EXPECT_TRUE(found.implementation.ends_with(" in rows")) << found.implementation;
      ++compared;
      const auto y = found.outputs[0].span<float>();
      const auto z = wanted.outputs[0].span<float>();
      ASSERT_EQ(y.size(), z.size());
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(y[i], z[i], 1e-4) << "element " << i << " of " << k.a.text();
    }
  }
  EXPECT_GE(compared, 10U);
}

}  // namespace
}  // namespace quern::testing
