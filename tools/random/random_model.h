// SPDX-License-Identifier: Apache-2.0
// Random valid ONNX models with inputs, the same for a seed on every machine.
//
// A model avoids operations of which two right answers may differ by more than rounding: ties,
// comparisons, rounding and casts to integers only get values without rounding errors (`exact`),
// denominators and logarithms stay away from 0, and values with NaN, infinities or extreme numbers
// go only into elementwise operators, movement and extrema.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <quern/custom_ops.h>
#include <quern/status.h>
#include <quern/tensor.h>

#include "frontends/onnx-parser/write.h"

namespace quern::tools {

struct RandomOptions {
  std::uint64_t seed = 0;
  int min_nodes = 20;
  int max_nodes = 60;
  std::int64_t most_opset = 28;
  // The declared shapes of nodes' outputs: any, including wrong ones, or only true ones.
  enum class Claims : std::uint8_t { any, true_ones };
  Claims claims = Claims::any;
  // Operators of the host, which models then have nodes of; null: none.
  std::shared_ptr<const CustomOps> ops = nullptr;
};

// The value of an input in one run.
struct RandomInput {
  std::string name;
  Tensor tensor;  // of an optional: not valid() where it is empty
};

// The coarsest float type from which a value was computed.
enum class Grain : std::uint8_t { f32, f16, bf16 };

// A model and the runs that a session makes of it. Copies share the texts.
struct RandomModel {
  std::shared_ptr<onnx::TextPool> pool = std::make_shared<onnx::TextPool>();
  std::shared_ptr<std::deque<Tensor>> tensors = std::make_shared<std::deque<Tensor>>();
  onnx::ModelProto model;
  std::vector<std::vector<RandomInput>> runs;  // the inputs of each, in the order of the model's
  std::vector<std::string_view> exact;         // values whose bits no rounding touches
  std::vector<std::string_view> steady;  // inputs and constants that something discontinuous reads
  std::map<std::string_view, DType> rounded;  // floats that nodes make and that rounding touches
  std::map<std::string_view, Grain> grains;   // of outputs
  std::set<std::string_view> structured;      // what nodes make that is no tensor
  std::vector<std::string> families;          // that took part
  std::shared_ptr<const CustomOps> ops;       // that its nodes may name; null: none

  const onnx::GraphProto& graph() const { return model.graph.front(); }
  onnx::GraphProto& graph() { return model.graph.front(); }
};

// "20..60" or "30": how many nodes.
Status parse_node_range(const std::string& text, RandomOptions& options);

RandomModel make_random_model(const RandomOptions& options);

// Names of everything that make_random_model() may draw from.
std::vector<std::string> random_families();

// Nodes of the graph and of the graphs inside.
std::size_t count_nodes(const onnx::GraphProto& graph);

}  // namespace quern::tools
