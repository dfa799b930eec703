// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernels.h"

namespace quern::bench {

std::vector<Kernel> pool_kernels() {
  return {
      {"pool/max3x3s2/64x112x112",
       [](GraphMaker& g) {
         return g.node(Pool{.kind = PoolKind::max,
                            .window = {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}},
                       {g.input(DType::f32, {1, 64, 112, 112})});
       }},
      {"pool/average3x3/64x56x56",
       [](GraphMaker& g) {
         return g.node(
             Pool{.kind = PoolKind::average, .window = {.kernel = {3, 3}, .pads = {1, 1, 1, 1}}},
             {g.input(DType::f32, {1, 64, 56, 56})});
       }},
      {"pool/global-average/1280x7x7", [](GraphMaker& g) {
         return g.node(Pool{.kind = PoolKind::average, .global = true},
                       {g.input(DType::f32, {1, 1280, 7, 7})});
       }}};
}

}  // namespace quern::bench
