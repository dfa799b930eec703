// SPDX-License-Identifier: Apache-2.0
// The right answer of a graph, evaluated in f64 without any pass, and for each element a bound on
// how far a correct run may be from it. docs/error-bounds.md derives the bounds.
//
// The bound is a running error analysis: every operator turns the bounds of its operands into one
// of its results and adds the roundings of its own. Nothing in it is fitted to what was observed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/graph.h"

namespace quern::tools {

// The accuracy of the functions of a run (exp, tanh, division, ...).
enum class Arithmetic : std::uint8_t {
  cpu,           // that of kernels/simd, libm and oneDNN
  cpu_winograd,  // the same, and every convolution of 3x3 may be Winograd's, however small
  vulkan,        // required by Vulkan's specification; denormals may be flushed
};

// The arithmetic of a device by its name: "cpu", "vulkan,as-hardware". `implementation` is the one
// that CompileOptions ask for.
inline Arithmetic arithmetic_of(std::string_view device, std::string_view implementation = {}) {
  if (device.starts_with("vulkan")) return Arithmetic::vulkan;
  return implementation == "winograd" || implementation == "onednn-winograd"
             ? Arithmetic::cpu_winograd
             : Arithmetic::cpu;
}

struct BoundOptions {
  Arithmetic arithmetic = Arithmetic::cpu;
  // Limit for all loops together: a graph that needs more is rejected.
  std::int64_t max_iterations = 100'000;
};

// The right value of a tensor and its error bound.
struct BoundedTensor {
  Tensor value;  // floats of 16 and 32 bits as f64; other types as they are
  // By element, absolute; 0 if it must be exact. Infinity: undetermined, any value is right, since
  // a discontinuity, an overflow or an invalid operation lies within the error.
  std::vector<double> bound;
  DType type = DType::f32;  // of the graph's value
};

// A value of the graph.
struct BoundedValue {
  enum class Kind : std::uint8_t {
    tensor,        // one tensor
    sequence,      // any number of them
    none,          // an empty optional
    undetermined,  // the shape, or which of the above it is, depends on what is within an error
  };

  Kind kind = Kind::tensor;
  std::vector<BoundedTensor> tensors;
};

// The value of a graph input: one tensor, those of a sequence, or an empty optional.
struct OracleInput {
  BoundedValue::Kind kind = BoundedValue::Kind::tensor;
  std::vector<Tensor> tensors;
};

// One value for each output of `graph`, which has seen no pass. Inputs are exact.
// Errors: those of inference and of references (an index out of range, shapes that clash), and
// unsupported for nodes that carry post-ops: passes make those.
Result<std::vector<BoundedValue>> evaluate_with_bounds(const Graph& graph,
                                                       std::span<const OracleInput> inputs,
                                                       const BoundOptions& options = {});

// ---- the judge ---------------------------------------------------------------------------------

// A difference of `got` that exceeds the bound, at the element that is worst relative to its bound.
struct Difference {
  std::int64_t element = -1;  // -1: type or shape differ
  double got = 0;
  double wanted = 0;
  double bound = 0;
  std::int64_t outside = 0;  // how many elements are
  std::string text;          // a sentence

  // The error as a multiple of the bound; infinity if the bound is 0.
  double excess() const;
};

// nullopt if `got` is right. NaN is right only where NaN is wanted, an infinity likewise.
std::optional<Difference> compare(const BoundedTensor& wanted, const TensorView& got);

// The share of a result that was judged.
struct Share {
  std::int64_t elements = 0;
  std::int64_t undetermined = 0;

  double judged() const {
    return elements == 0 ? 1
                         : 1 - static_cast<double>(undetermined) / static_cast<double>(elements);
  }
  Share& operator+=(const Share& o) {
    elements += o.elements, undetermined += o.undetermined;
    return *this;
  }
};
// An undetermined value counts as one element.
Share judged_share(const BoundedValue& value);

}  // namespace quern::tools
