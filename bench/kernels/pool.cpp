// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pool.h"

#include "bench/kernels/kernels.h"

namespace quern::bench {
namespace {

Kernel pool(const char* name, PoolKind kind, const Window& window, const Shape& x) {
  return {name, [=](GraphMaker& g) {
            return g.node(Pool{.kind = kind, .window = window}, {g.input(DType::f32, x)});
          }};
}
Kernel global(const char* name, PoolKind kind, const Shape& x) {
  return {name, [=](GraphMaker& g) {
            return g.node(Pool{.kind = kind, .global = true}, {g.input(DType::f32, x)});
          }};
}

}  // namespace

std::vector<Kernel> pool_kernels() {
  const Window around = {.kernel = {3, 3}, .pads = {1, 1, 1, 1}};
  return {pool("pool/max3x3s2/64x112x112", PoolKind::max,
               {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}, {1, 64, 112, 112}),
          pool("pool/max3x3/192x28x28", PoolKind::max, around, {1, 192, 28, 28}),
          pool("pool/max2x2s2/64x56x56", PoolKind::max, {.kernel = {2, 2}, .strides = {2, 2}},
               {1, 64, 56, 56}),
          pool("pool/max5x5/256x20x20", PoolKind::max, {.kernel = {5, 5}, .pads = {2, 2, 2, 2}},
               {1, 256, 20, 20}),
          pool("pool/max3s2/64x1000", PoolKind::max,
               {.kernel = {3}, .strides = {2}, .pads = {1, 1}}, {1, 64, 1000}),
          pool("pool/average3x3/64x56x56", PoolKind::average, around, {1, 64, 56, 56}),
          global("pool/global-max/512x7x7", PoolKind::max, {1, 512, 7, 7}),
          global("pool/global-average/1280x7x7", PoolKind::average, {1, 1280, 7, 7})};
}

}  // namespace quern::bench
