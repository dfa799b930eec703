// SPDX-License-Identifier: Apache-2.0
// ONNX models as graphs. The one header of this folder that others include.
//
// Understood: IR versions 3 to 14, ai.onnx opsets 1 to 28, ai.onnx.preview.training, the common
// operators of com.microsoft, model-local functions. Nothing that a file holds can make these calls
// throw, abort, or take more memory than the limits allow; no weight is copied unless its encoding
// demands it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "graph/graph.h"
#include "graph/type.h"

namespace quern {

struct ImportOptions {
  // What the messages of the file may take once read; 0: 32 MiB + 4 times the file.
  std::size_t max_message_bytes = 0;
  // What the graph and decoded tensors may take; 0: 256 MiB + 16 times the file, and 8 times each
  // file of external data.
  std::size_t max_import_bytes = 0;
  // Graphs in attributes of nodes in graphs ..., and calls of functions in functions ...
  int max_depth = 32;
  // A sentence for everything that keeps the model from being imported, at most `max_problems`.
  std::vector<std::string>* problems = nullptr;
  std::size_t max_problems = 100;
  // A sentence for every declaration that is not true and not needed either, as many at most.
  std::vector<std::string>* warnings = nullptr;
};

struct OnnxModel {
  Graph graph;
  std::int64_t ir_version = 0;
  std::int64_t model_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  std::string doc_string;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  // domain, version
  std::vector<std::pair<std::string, std::string>> metadata;
};

// The file stays mapped as long as a constant of the graph lives; it must not be changed meanwhile.
// On error nothing is kept; the Status names the first problem and says how many there are.
Result<OnnxModel> load_onnx(const std::string& path, OpSet ops, const ImportOptions& options = {});

// The same from memory, which `owner` keeps alive (null: the caller does, for as long as the graph
// lives). External data is looked for below `folder`; an empty one refuses it.
Result<OnnxModel> parse_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             const std::string& folder, OpSet ops,
                             const ImportOptions& options = {});

// What input_K.pb and output_K.pb of the ONNX test data hold.
struct OnnxValue {
  std::string name;
  ValueType::Kind kind = ValueType::Kind::tensor;
  bool present = true;          // false: an optional that is empty
  std::vector<Tensor> tensors;  // one, or the elements of the sequence
};

// Only the declared type tells which message the file holds. A tensor declared as a 16-bit float
// but stored as UINT16 (bfloat16 in the data of ONNX 1.12) is taken for its bits. Elements are
// aligned, as a session wants its inputs.
Result<OnnxValue> read_tensor_file(const std::string& path, const ValueType& declared);
Result<OnnxValue> parse_tensor_file(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, const ValueType& declared);
Status write_tensor_file(const std::string& path, const OnnxValue& value);

}  // namespace quern
