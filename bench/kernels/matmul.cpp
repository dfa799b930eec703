// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernels.h"
#include "engine/vocabulary/text_util.h"

namespace quern::bench {
namespace {

// [m, k] times constant weights [k, n].
Kernel with_weights(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {
      cat("matmul/", m, "x", n, "x", k), [=](GraphMaker& g) {
        return g.node("MatMul", "", {g.input(DType::f32, {m, k}), g.weights(DType::f32, {k, n})});
      }};
}

// As in attention: both sides are computed, one product a head.
Kernel batched(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {cat("matmul/", batch, "x", m, "x", n, "x", k), [=](GraphMaker& g) {
            return g.node("MatMul", "",
                          {g.input(DType::f32, {batch, m, k}), g.input(DType::f32, {batch, k, n})});
          }};
}

}  // namespace

std::vector<Kernel> matmul_kernels() {
  return {with_weights(512, 512, 512), with_weights(128, 768, 768), with_weights(128, 3072, 768),
          with_weights(16, 384, 384),  with_weights(1, 1024, 1024), with_weights(1, 4096, 4096),
          batched(12, 128, 128, 64),   batched(12, 128, 64, 128)};
}

}  // namespace quern::bench
