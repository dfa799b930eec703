// SPDX-License-Identifier: Apache-2.0
// The ONNX messages that an import needs, as plain structs over the bytes of the file.
//
// Strings and payloads are views: the bytes must outlive the message. Numbers in typed tensor
// fields stay encoded until tensor.h decodes them into their final place. Field numbers and
// meanings: onnx.proto of ONNX IR version 14. Unknown fields are skipped, as protobuf demands.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "frontends/onnx-parser/wire.h"

namespace quern::onnx {

struct StringEntry {
  std::string_view key;
  std::string_view value;
};

struct OperatorSetId {
  std::string_view domain;
  std::int64_t version = 0;
};

struct Dimension {
  bool has_value = false;
  std::int64_t value = 0;
  std::string_view param;
};

struct TypeProto {
  enum class Kind : std::uint8_t { none, tensor, sequence, optional, sparse_tensor, map, opaque };

  Kind kind = Kind::none;
  bool has_shape = false;
  std::int32_t elem_type = 0;      // of a tensor, or of the keys of a map
  std::vector<Dimension> dims;     // of a tensor with has_shape
  std::vector<TypeProto> element;  // of a sequence, an optional or the values of a map: one
};

struct ValueInfo {
  std::string_view name;
  TypeProto type;
};

struct TensorProto {
  std::vector<std::int64_t> dims;
  std::int32_t data_type = 0;
  bool has_raw = false;
  bool is_external = false;
  std::string_view name;
  std::string_view raw;
  std::vector<StringEntry> external;
  std::vector<std::string_view> parts;  // the message itself, for the typed fields; two when merged
};

struct SparseTensorProto {
  TensorProto values;
  TensorProto indices;
  std::vector<std::int64_t> dims;
};

enum class AttributeKind : std::int32_t {
  undefined,
  number,
  integer,
  text,
  tensor,
  graph,
  numbers,
  integers,
  texts,
  tensors,
  graphs,
  sparse_tensor,
  sparse_tensors,
  type,
  types,
};

struct GraphProto;

// The members that hold one sub-message are vectors of none or one.
struct AttributeProto {
  std::string_view name;
  std::string_view ref_name;  // of a function body: the caller's attribute to take
  AttributeKind kind = AttributeKind::undefined;
  float f = 0;
  std::int64_t i = 0;
  std::string_view s;
  std::vector<TensorProto> t;
  std::vector<GraphProto> g;
  std::vector<SparseTensorProto> sparse;
  std::vector<TypeProto> type;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  std::vector<SparseTensorProto> sparse_tensors;
  std::vector<TypeProto> types;
};

struct NodeProto {
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::string_view name;
  std::string_view op_type;
  std::string_view domain;
  std::string_view overload;
  std::vector<AttributeProto> attributes;
};

struct GraphProto {
  std::string_view name;
  std::vector<NodeProto> nodes;
  std::vector<TensorProto> initializers;
  std::vector<SparseTensorProto> sparse_initializers;
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<ValueInfo> value_info;
};

struct FunctionProto {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<AttributeProto> default_attributes;
  std::vector<NodeProto> nodes;
  std::vector<OperatorSetId> opsets;
};

struct ModelProto {
  std::int64_t ir_version = 0;
  std::int64_t model_version = 0;
  std::string_view producer_name;
  std::string_view producer_version;
  std::string_view domain;
  std::string_view doc_string;
  std::vector<OperatorSetId> opsets;
  std::vector<GraphProto> graph;  // none or one
  std::vector<FunctionProto> functions;
  std::vector<StringEntry> metadata;
};

// The other messages that an input_K.pb may hold. An empty optional has no elements.
struct SequenceProto {
  std::string_view name;
  std::vector<TensorProto> tensors;
};
struct OptionalProto {
  std::string_view name;
  std::vector<TensorProto> tensor;      // none or one
  std::vector<SequenceProto> sequence;  // none or one
};

struct ProtoLimits {
  std::size_t memory_bytes = 0;  // limit for the structs and the elements of their lists
  int graph_depth = 32;          // of graphs in attributes of nodes
  const Stop* stop = nullptr;    // ends the reading with its error
};

// `taken` (it may be null) receives the bytes that the structs take.
Result<ModelProto> read_model(std::string_view bytes, const ProtoLimits& limits,
                              std::size_t* taken = nullptr);
Result<TensorProto> read_tensor(std::string_view bytes, const ProtoLimits& limits);
Result<SequenceProto> read_sequence(std::string_view bytes, const ProtoLimits& limits);
Result<OptionalProto> read_optional(std::string_view bytes, const ProtoLimits& limits);

}  // namespace quern::onnx
