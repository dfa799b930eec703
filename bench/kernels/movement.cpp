// SPDX-License-Identifier: Apache-2.0
// Operators that compute nothing, and the reorders that the engine adds around blocked kernels.
#include "bench/kernels/kernels.h"
#include "graph/ops/concat.h"

namespace quern::bench {
namespace {

Kernel transpose(std::string name, Shape shape, std::string perm) {
  return {"transpose/" + name,
          [=](GraphMaker& g) {
            return g.node("Transpose", "perm=" + perm, {g.input(DType::f32, shape)});
          },
          Kernel::Timed::everything};
}

}  // namespace

std::vector<Kernel> movement_kernels() {
  return {
      transpose("1024x1024", {1024, 1024}, "[1,0]"),
      transpose("nchw-to-nhwc/64x56x56", {1, 64, 56, 56}, "[0,2,3,1]"),
      transpose("heads/128x12x64", {1, 128, 12, 64}, "[0,2,1,3]"),
      {"concat/64+64x56x56",
       [](GraphMaker& g) {
         const Shape shape = {1, 64, 56, 56};
         return g.node(Concat{.axis = 1}, {g.input(DType::f32, shape), g.input(DType::f32, shape)});
       }},
      {"reorder/around-conv/64x56x56",
       [](GraphMaker& g) {
         return g.node(
             "Conv", "kernel=[1,1]",
             {g.input(DType::f32, {1, 64, 56, 56}), g.weights(DType::f32, {64, 64, 1, 1})});
       },
       Kernel::Timed::reorders}};
}

}  // namespace quern::bench
