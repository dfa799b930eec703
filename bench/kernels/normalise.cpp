// SPDX-License-Identifier: Apache-2.0
// Softmax, normalisation and reduction: rows that are read more than once.
#include "bench/kernels/kernels.h"
#include "graph/ops/layer_norm.h"
#include "graph/ops/reduce.h"
#include "graph/ops/softmax.h"

namespace quern::bench {
namespace {

ValueId axes(GraphMaker& g, std::initializer_list<std::int64_t> axes) {
  return g.constant(Tensor::from_values<std::int64_t>(
      DType::i64, {static_cast<std::int64_t>(axes.size())}, {axes.begin(), axes.size()}));
}

}  // namespace

std::vector<Kernel> normalise_kernels() {
  return {{"softmax/12x128x128",
           [](GraphMaker& g) {
             return g.node(Softmax{}, {g.input(DType::f32, {12, 128, 128})});
           }},
          {"softmax/1x32000",
           [](GraphMaker& g) {
             return g.node(Softmax{}, {g.input(DType::f32, {1, 32000})});
           }},
          {"layer-norm/128x768",
           [](GraphMaker& g) {
             return g.node(LayerNorm{},
                           {g.input(DType::f32, {128, 768}), g.weights(DType::f32, {768}),
                            g.weights(DType::f32, {768})});
           }},
          {"reduce/mean-last/128x768",
           [](GraphMaker& g) {
             return g.node(Reduce{.kind = ReduceKind::mean},
                           {g.input(DType::f32, {128, 768}), axes(g, {-1})});
           }},
          {"reduce/mean-spatial/64x56x56",
           [](GraphMaker& g) {
             return g.node(Reduce{.kind = ReduceKind::mean},
                           {g.input(DType::f32, {1, 64, 56, 56}), axes(g, {2, 3})});
           }},
          {"reduce/max-first/128x768", [](GraphMaker& g) {
             return g.node(Reduce{.kind = ReduceKind::max},
                           {g.input(DType::f32, {128, 768}), axes(g, {0})});
           }}};
}

}  // namespace quern::bench
