// SPDX-License-Identifier: Apache-2.0
// Single operators as graphs, to be timed on every device of the engine. A family a file.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <quern/model.h>
#include <quern/status.h>

#include "graph/graph.h"

namespace quern::bench {

// Builds a graph whose inputs and weights hold random numbers.
class GraphMaker {
 public:
  GraphMaker();
  ValueId input(DType dtype, const Shape& shape);
  ValueId weights(DType dtype, const Shape& shape);
  ValueId constant(Tensor tensor) { return graph_->add_constant(std::move(tensor)); }
  // Appends a node with one output. The first error is kept, and told by finish().
  ValueId node(Op op, std::vector<ValueId> inputs);
  // The same for an operator by its name and the text of its attributes.
  ValueId node(std::string_view op, std::string_view attributes, std::vector<ValueId> inputs);
  Result<Model> finish(ValueId output) &&;

 private:
  std::unique_ptr<Graph> graph_;
  Status status_;
};

struct Kernel {
  std::string name;                           // "matmul/512x512x512"
  std::function<ValueId(GraphMaker&)> build;  // its output
  // A graph of one operator begins and ends in row-major memory; the reorders that this costs
  // blocked kernels would mostly not be there in a model, and do not count.
  enum class Timed : std::uint8_t { operators, reorders, everything } timed = Timed::operators;
};

std::vector<Kernel> matmul_kernels();
std::vector<Kernel> conv_kernels();
std::vector<Kernel> pool_kernels();
std::vector<Kernel> elementwise_kernels();
std::vector<Kernel> normalise_kernels();
std::vector<Kernel> movement_kernels();

}  // namespace quern::bench
