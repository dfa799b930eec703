// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/write.h"

#include <cstring>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/tensor.h"
#include "graph/ops/shape_of.h"

namespace quern::onnx {
namespace {

// A message under construction. The functions `..._if_any` leave out empty text and zeros,
// since absence has the same meaning.
class Writer {
 public:
  void varint(std::uint64_t v) {
    for (; v >= 128; v >>= 7) out_ += static_cast<char>(v | 128);
    out_ += static_cast<char>(v);
  }
  void key(std::uint32_t field, std::uint32_t wire_type) {
    varint(std::uint64_t{field} << 3 | wire_type);
  }
  void number(std::uint32_t field, std::int64_t v) {
    key(field, 0);
    varint(static_cast<std::uint64_t>(v));
  }
  void number_if_any(std::uint32_t field, std::int64_t v) {
    if (v != 0) number(field, v);
  }
  void bytes(std::uint32_t field, std::string_view v) {
    key(field, 2);
    varint(v.size());
    out_ += v;
  }
  void text_if_any(std::uint32_t field, std::string_view v) {
    if (!v.empty()) bytes(field, v);
  }
  template <class T>
  void fixed(std::uint32_t field, T v) {
    key(field, sizeof v == 4 ? 5 : 1);
    char raw[sizeof v];
    std::memcpy(raw, &v, sizeof v);
    out_.append(raw, sizeof v);
  }
  template <class Message>
  void message(std::uint32_t field, const Message& m);
  template <class Message>
  void messages(std::uint32_t field, const std::vector<Message>& all) {
    for (const Message& m : all) message(field, m);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void put(Writer& w, const StringEntry& entry) {
  w.bytes(1, entry.key);
  w.bytes(2, entry.value);
}

void put(Writer& w, const OperatorSetId& opset) {
  w.text_if_any(1, opset.domain);
  w.number(2, opset.version);
}

// ---- types

void put(Writer& w, const Dimension& dim) {
  if (dim.has_value) {
    w.number(1, dim.value);
  } else {
    w.text_if_any(2, dim.param);
  }
}

struct ShapeOf {
  const std::vector<Dimension>& dims;
};
void put(Writer& w, const ShapeOf& shape) {
  w.messages(1, shape.dims);
}

struct TensorTypeOf {
  const TypeProto& type;
};
void put(Writer& w, const TensorTypeOf& t) {
  w.number_if_any(1, t.type.elem_type);
  if (t.type.has_shape) w.message(2, ShapeOf{t.type.dims});
}

struct ElementOf {
  const TypeProto& type;
};
void put(Writer& w, const ElementOf& e) {
  w.messages(1, e.type.element);
}

struct MapOf {
  const TypeProto& type;
};
void put(Writer& w, const MapOf& m) {
  w.number_if_any(1, m.type.elem_type);
  w.messages(2, m.type.element);
}

struct Empty {};
void put(Writer&, const Empty&) {}

void put(Writer& w, const TypeProto& type) {
  switch (type.kind) {
    case TypeProto::Kind::none: return;
    case TypeProto::Kind::tensor: return w.message(1, TensorTypeOf{type});
    case TypeProto::Kind::sequence: return w.message(4, ElementOf{type});
    case TypeProto::Kind::map: return w.message(5, MapOf{type});
    case TypeProto::Kind::opaque: return w.message(7, Empty{});
    case TypeProto::Kind::sparse_tensor: return w.message(8, Empty{});
    case TypeProto::Kind::optional: return w.message(9, ElementOf{type});
  }
}

void put(Writer& w, const ValueInfo& value) {
  w.bytes(1, value.name);
  if (value.type.kind != TypeProto::Kind::none) w.message(2, value.type);
}

// ---- tensors

// float_data, int32_data, string_data, int64_data, double_data, uint64_data
bool holds_elements(std::uint32_t field) {
  return (field >= 4 && field <= 7) || field == 10 || field == 11;
}

void put_elements(Writer& w, std::string_view part) {
  WireState state(part, 0);
  WireReader r(part, state);
  while (r.next()) {
    if (!holds_elements(r.field())) {
      r.skip();
      continue;
    }
    std::uint64_t varint = 0;
    std::uint64_t eight = 0;
    std::uint32_t four = 0;
    switch (r.wire_type()) {
      case 0:
        if (r.take_varint(varint)) w.number(r.field(), static_cast<std::int64_t>(varint));
        break;
      case 1:
        if (r.take_fixed(&eight, sizeof eight)) w.fixed(r.field(), eight);
        break;
      case 5:
        if (r.take_fixed(&four, sizeof four)) w.fixed(r.field(), four);
        break;
      default: w.bytes(r.field(), r.message_bytes());
    }
  }
}

void put(Writer& w, const TensorProto& tensor) {
  for (const std::int64_t d : tensor.dims) w.number(1, d);
  w.number(2, tensor.data_type);
  for (const std::string_view part : tensor.parts) put_elements(w, part);
  w.text_if_any(8, tensor.name);
  if (tensor.has_raw) w.bytes(9, tensor.raw);
  w.messages(13, tensor.external);
  if (tensor.is_external) w.number(14, 1);
}

void put(Writer& w, const SparseTensorProto& tensor) {
  w.message(1, tensor.values);
  w.message(2, tensor.indices);
  for (const std::int64_t d : tensor.dims) w.number(3, d);
}

// ---- nodes and graphs

void put(Writer& w, const GraphProto& graph);

// The kind is written first, so that a reader knows it before the value.
void put(Writer& w, const AttributeProto& a) {
  w.bytes(1, a.name);
  w.number_if_any(20, static_cast<std::int64_t>(a.kind));
  if (!a.ref_name.empty()) return w.bytes(21, a.ref_name);
  if (a.kind == AttributeKind::number) w.fixed(2, a.f);
  if (a.kind == AttributeKind::integer) w.number(3, a.i);
  if (a.kind == AttributeKind::text) w.bytes(4, a.s);
  w.messages(5, a.t);
  w.messages(6, a.g);
  for (const float f : a.floats) w.fixed(7, f);
  for (const std::int64_t i : a.ints) w.number(8, i);
  for (const std::string_view s : a.strings) w.bytes(9, s);
  w.messages(10, a.tensors);
  w.messages(11, a.graphs);
  w.messages(14, a.type);
  w.messages(15, a.types);
  w.messages(22, a.sparse);
  w.messages(23, a.sparse_tensors);
}

void put(Writer& w, const NodeProto& node) {
  for (const std::string_view name : node.inputs) w.bytes(1, name);
  for (const std::string_view name : node.outputs) w.bytes(2, name);
  w.text_if_any(3, node.name);
  w.bytes(4, node.op_type);
  w.messages(5, node.attributes);
  w.text_if_any(7, node.domain);
  w.text_if_any(8, node.overload);
}

void put(Writer& w, const GraphProto& graph) {
  w.messages(1, graph.nodes);
  w.text_if_any(2, graph.name);
  w.messages(5, graph.initializers);
  w.messages(11, graph.inputs);
  w.messages(12, graph.outputs);
  w.messages(13, graph.value_info);
  w.messages(15, graph.sparse_initializers);
}

void put(Writer& w, const FunctionProto& function) {
  w.text_if_any(1, function.name);
  for (const std::string_view name : function.inputs) w.bytes(4, name);
  for (const std::string_view name : function.outputs) w.bytes(5, name);
  w.messages(7, function.nodes);
  w.messages(9, function.opsets);
  w.text_if_any(10, function.domain);
  w.messages(11, function.default_attributes);
  w.text_if_any(13, function.overload);
}

void put(Writer& w, const ModelProto& model) {
  w.number_if_any(1, model.ir_version);
  w.text_if_any(2, model.producer_name);
  w.text_if_any(3, model.producer_version);
  w.text_if_any(4, model.domain);
  w.number_if_any(5, model.model_version);
  w.text_if_any(6, model.doc_string);
  w.messages(7, model.graph);
  w.messages(8, model.opsets);
  w.messages(14, model.metadata);
  w.messages(25, model.functions);
}

// ---- values in files

// Numbers of SequenceProto.DataType and OptionalProto.DataType.
constexpr std::int64_t of_tensors = 1;
constexpr std::int64_t of_sequences = 3;

void put(Writer& w, const SequenceProto& sequence) {
  w.text_if_any(1, sequence.name);
  w.number(2, of_tensors);
  w.messages(3, sequence.tensors);
}

void put(Writer& w, const OptionalProto& optional) {
  w.text_if_any(1, optional.name);
  w.number(2, !optional.tensor.empty()     ? of_tensors
              : !optional.sequence.empty() ? of_sequences
                                           : 0);
  w.messages(3, optional.tensor);
  w.messages(5, optional.sequence);
}

template <class Message>
void Writer::message(std::uint32_t field, const Message& m) {
  Writer inner;
  put(inner, m);
  bytes(field, inner.out_);
}

template <class Message>
std::string written(const Message& m) {
  Writer w;
  put(w, m);
  return w.take();
}

// Elements smaller than a byte, the first in its low bits.
std::string pack_few_bits(const Tensor& t) {
  const auto values = t.span<std::uint8_t>();
  const std::size_t bits = bits_of(t.dtype());
  const std::size_t parts = 8 / bits;
  std::string packed(ceil_div(values.size(), parts), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int part = (values[i] & ((1 << bits) - 1)) << (i % parts * bits);
    packed[i / parts] = static_cast<char>(packed[i / parts] | part);
  }
  return packed;
}

// string_data
std::string pack_strings(const Tensor& t) {
  Writer w;
  for (std::size_t i = 0; i < t.span<StringRef>().size(); ++i) {
    StringRef s;
    std::memcpy(&s, t.data() + i * sizeof s, sizeof s);
    w.bytes(6, s.view());
  }
  return w.take();
}

AttributeProto attribute(std::string_view name, AttributeKind kind) {
  AttributeProto a;
  a.name = name;
  a.kind = kind;
  return a;
}

}  // namespace

std::string write_model(const ModelProto& model) {
  return written(model);
}
std::string write_tensor(const TensorProto& tensor) {
  return written(tensor);
}
std::string write_sequence(const SequenceProto& sequence) {
  return written(sequence);
}
std::string write_optional(const OptionalProto& optional) {
  return written(optional);
}

TensorProto tensor_message(const Tensor& tensor, std::string_view name, TextPool& pool) {
  TensorProto t;
  t.dims.assign(tensor.shape().begin(), tensor.shape().end());
  t.data_type = onnx_type_of(tensor.dtype());
  t.name = name;
  if (tensor.dtype() == DType::string) {
    t.parts.push_back(pool.keep(pack_strings(tensor)));
    return t;
  }
  t.has_raw = true;
  if (bits_of(tensor.dtype()) < 8) {
    t.raw = pool.keep(pack_few_bits(tensor));
  } else {
    t.raw = {reinterpret_cast<const char*>(tensor.data()), tensor.bytes()};
  }
  return t;
}

// ---- what models are made of

AttributeProto number_attribute(std::string_view name, float value) {
  AttributeProto a = attribute(name, AttributeKind::number);
  a.f = value;
  return a;
}
AttributeProto integer_attribute(std::string_view name, std::int64_t value) {
  AttributeProto a = attribute(name, AttributeKind::integer);
  a.i = value;
  return a;
}
AttributeProto text_attribute(std::string_view name, std::string_view value) {
  AttributeProto a = attribute(name, AttributeKind::text);
  a.s = value;
  return a;
}
AttributeProto integers_attribute(std::string_view name, std::span<const std::int64_t> values) {
  AttributeProto a = attribute(name, AttributeKind::integers);
  a.ints.assign(values.begin(), values.end());
  return a;
}
AttributeProto numbers_attribute(std::string_view name, std::span<const float> values) {
  AttributeProto a = attribute(name, AttributeKind::numbers);
  a.floats.assign(values.begin(), values.end());
  return a;
}
AttributeProto texts_attribute(std::string_view name, std::span<const std::string_view> values) {
  AttributeProto a = attribute(name, AttributeKind::texts);
  a.strings.assign(values.begin(), values.end());
  return a;
}
AttributeProto tensor_attribute(std::string_view name, TensorProto value) {
  AttributeProto a = attribute(name, AttributeKind::tensor);
  a.t.push_back(std::move(value));
  return a;
}
AttributeProto graph_attribute(std::string_view name, GraphProto value) {
  AttributeProto a = attribute(name, AttributeKind::graph);
  a.g.push_back(std::move(value));
  return a;
}
AttributeProto type_attribute(std::string_view name, TypeProto value) {
  AttributeProto a = attribute(name, AttributeKind::type);
  a.type.push_back(std::move(value));
  return a;
}

}  // namespace quern::onnx
