// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernels.h"
#include "graph/ops/binary.h"
#include "graph/ops/unary.h"

namespace quern::bench {
namespace {

Kernel unary(std::string name, UnaryKind kind) {
  return {"elementwise/" + name + "/128x3072", [=](GraphMaker& g) {
            return g.node(Unary{.kind = kind}, {g.input(DType::f32, {128, 3072})});
          }};
}

}  // namespace

std::vector<Kernel> elementwise_kernels() {
  return {unary("relu", UnaryKind::relu),
          unary("gelu", UnaryKind::gelu),
          unary("sigmoid", UnaryKind::sigmoid),
          {"elementwise/add/64x56x56",
           [](GraphMaker& g) {
             const Shape shape = {1, 64, 56, 56};
             return g.node(Binary{.kind = BinaryKind::add},
                           {g.input(DType::f32, shape), g.input(DType::f32, shape)});
           }},
          {"elementwise/add-broadcast/64x56x56",
           [](GraphMaker& g) {
             return g.node(Binary{.kind = BinaryKind::add}, {g.input(DType::f32, {1, 64, 56, 56}),
                                                             g.weights(DType::f32, {64, 1, 1})});
           }},
          // Fusion should turn this into one pass over memory: swish(x * a) + y.
          {"elementwise/chain/64x56x56", [](GraphMaker& g) {
             const ValueId x = g.input(DType::f32, {1, 64, 56, 56});
             const ValueId y = g.input(DType::f32, {1, 64, 56, 56});
             const ValueId scaled =
                 g.node(Binary{.kind = BinaryKind::mul}, {x, g.weights(DType::f32, {64, 1, 1})});
             const ValueId gate = g.node(Unary{.kind = UnaryKind::sigmoid}, {scaled});
             const ValueId swish = g.node(Binary{.kind = BinaryKind::mul}, {scaled, gate});
             return g.node(Binary{.kind = BinaryKind::add}, {swish, y});
           }}};
}

}  // namespace quern::bench
