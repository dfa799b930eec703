// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernels.h"

namespace quern::bench {
namespace {

Kernel unary(const std::string& kind) {
  return {"elementwise/" + kind + "/128x3072", [=](GraphMaker& g) {
            return g.node("Unary", "kind=" + kind, {g.input(DType::f32, {128, 3072})});
          }};
}

}  // namespace

std::vector<Kernel> elementwise_kernels() {
  return {unary("relu"),
          unary("gelu"),
          unary("sigmoid"),
          {"elementwise/add/64x56x56",
           [](GraphMaker& g) {
             const Shape shape = {1, 64, 56, 56};
             return g.node("Binary", "kind=add",
                           {g.input(DType::f32, shape), g.input(DType::f32, shape)});
           }},
          {"elementwise/add-broadcast/64x56x56",
           [](GraphMaker& g) {
             return g.node(
                 "Binary", "kind=add",
                 {g.input(DType::f32, {1, 64, 56, 56}), g.weights(DType::f32, {64, 1, 1})});
           }},
          // Fusion should turn this into one pass over memory: swish(x * a) + y.
          {"elementwise/chain/64x56x56", [](GraphMaker& g) {
             const ValueId x = g.input(DType::f32, {1, 64, 56, 56});
             const ValueId y = g.input(DType::f32, {1, 64, 56, 56});
             const ValueId scaled =
                 g.node("Binary", "kind=mul", {x, g.weights(DType::f32, {64, 1, 1})});
             const ValueId gate = g.node("Unary", "kind=sigmoid", {scaled});
             const ValueId swish = g.node("Binary", "kind=mul", {scaled, gate});
             return g.node("Binary", "kind=add", {swish, y});
           }}};
}

}  // namespace quern::bench
