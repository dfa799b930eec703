// SPDX-License-Identifier: Apache-2.0
// Reads ONNX models as graphs. The only header of this folder that other folders include.
//
// Supported: IR versions 3 to 14, ai.onnx opsets 1 to 28, ai.onnx.preview.training, the common
// operators of com.microsoft, model-local functions. No file content can make these calls throw,
// abort, or exceed the memory limits; no weight is copied unless its encoding requires it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <quern/status.h>
#include <quern/tensor.h>

#include "frontends/onnx-parser/file.h"
#include "graph/graph.h"
#include "graph/type.h"

namespace quern {

struct ImportOptions {
  // How the file and those of external data come into memory.
  FileBytes files = FileBytes::mapped;
  // The limit in bytes for everything that follows; 0: none of its own.
  std::size_t max_bytes = 0;
  // The limit in bytes for the decoded messages of the file; 0: 32 MiB + 4 times the file size.
  std::size_t max_message_bytes = 0;
  // The limit in bytes for the graph and decoded tensors; 0: 256 MiB + 16 times the file size.
  // Without `max_bytes`, each file of external data raises it by 8 times its size.
  std::size_t max_import_bytes = 0;
  // Ends the reading with its error; null: nothing does.
  const Stop* stop = nullptr;
  bool decodes_pictures = true;  // if off, ImageDecoder is refused
  // The maximum nesting depth of graphs in attributes and of function calls.
  int max_depth = 32;
  // Receives one sentence per problem that prevents the import, at most `max_problems`.
  std::vector<std::string>* problems = nullptr;
  std::size_t max_problems = 100;
  // Receives one sentence per declaration that is wrong but not needed, at most `max_problems`.
  std::vector<std::string>* warnings = nullptr;
  // Receives the value of each name of the main graph; names within bodies and functions are not
  // among them. Several names may have one value.
  std::map<std::string, ValueId, std::less<>>* values = nullptr;
};

struct OnnxModel {
  Graph graph;
  std::size_t bytes = 0;  // of the graph and its decoded tensors, as they were charged
  std::int64_t ir_version = 0;
  std::int64_t model_version = 0;
  std::string producer_name;
  std::string producer_version;
  std::string domain;
  std::string doc_string;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  // domain, version
  std::vector<std::pair<std::string, std::string>> metadata;
};

// The file stays mapped as long as a constant of the graph exists; it must not be changed
// meanwhile. On error nothing is kept; the Status has the first problem and the number of problems.
Result<OnnxModel> load_onnx(const std::string& path, const OpSet& ops,
                            const ImportOptions& options = {});

// The same from memory, which `owner` keeps alive (null: the caller keeps it alive as long as the
// graph). External data is read from below `folder`; if `folder` is empty, external data is
// refused.
Result<OnnxModel> parse_onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                             const std::string& folder, const OpSet& ops,
                             const ImportOptions& options = {});

// The content of an input_K.pb or output_K.pb of the ONNX test data.
struct OnnxValue {
  std::string name;
  ValueType::Kind kind = ValueType::Kind::tensor;
  bool present = true;          // false: an empty optional
  std::vector<Tensor> tensors;  // one, or the elements of the sequence
};

// The declared type determines which message the file holds. A tensor declared as a 16-bit float
// but stored as UINT16 (bfloat16 in the data of ONNX 1.12) is read as the bits of the float.
// Elements are aligned, as a session requires for inputs.
Result<OnnxValue> read_tensor_file(const std::string& path, const ValueType& declared);
Result<OnnxValue> parse_tensor_file(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, const ValueType& declared);
Status write_tensor_file(const std::string& path, const OnnxValue& value);
// The bytes of such a file. Errors: invalid_argument.
Result<std::string> tensor_file_bytes(const OnnxValue& value);

}  // namespace quern
