// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernels.h"

namespace quern::bench {
namespace {

Kernel pool(const char* name, const char* attributes, const Shape& x) {
  return {name,
          [=](GraphMaker& g) { return g.node("Pool", attributes, {g.input(DType::f32, x)}); }};
}

}  // namespace

std::vector<Kernel> pool_kernels() {
  return {
      pool("pool/max3x3s2/64x112x112", "kind=max kernel=[3,3] strides=[2,2] pads=[1,1,1,1]",
           {1, 64, 112, 112}),
      pool("pool/max3x3/192x28x28", "kind=max kernel=[3,3] pads=[1,1,1,1]", {1, 192, 28, 28}),
      pool("pool/max2x2s2/64x56x56", "kind=max kernel=[2,2] strides=[2,2]", {1, 64, 56, 56}),
      pool("pool/max5x5/256x20x20", "kind=max kernel=[5,5] pads=[2,2,2,2]", {1, 256, 20, 20}),
      pool("pool/max3s2/64x1000", "kind=max kernel=[3] strides=[2] pads=[1,1]", {1, 64, 1000}),
      pool("pool/average3x3/64x56x56", "kind=average kernel=[3,3] pads=[1,1,1,1]", {1, 64, 56, 56}),
      pool("pool/global-max/512x7x7", "kind=max global=true", {1, 512, 7, 7}),
      pool("pool/global-average/1280x7x7", "kind=average global=true", {1, 1280, 7, 7})};
}

}  // namespace quern::bench
