// SPDX-License-Identifier: Apache-2.0
// Writes ONNX files byte by byte, right or wrong: what the tests of the parser read.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace quern::onnx_test {

// A protobuf message under construction.
class Message {
 public:
  Message() = default;
  explicit Message(std::string bytes) : bytes_(std::move(bytes)) {}

  Message& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  Message& varint(std::uint64_t v) {
    for (; v >= 128; v >>= 7) bytes_ += static_cast<char>(v | 128);
    bytes_ += static_cast<char>(v);
    return *this;
  }
  Message& key(std::uint32_t field, std::uint32_t wire_type) {
    return varint(std::uint64_t{field} << 3 | wire_type);
  }
  Message& number(std::uint32_t field, std::int64_t v) {
    return key(field, 0).varint(static_cast<std::uint64_t>(v));
  }
  Message& text(std::uint32_t field, std::string_view s) {
    return key(field, 2).varint(s.size()).raw(s);
  }
  Message& message(std::uint32_t field, const Message& m) { return text(field, m.bytes_); }
  Message& real(std::uint32_t field, float v) { return key(field, 5).fixed(v); }
  Message& real(std::uint32_t field, double v) { return key(field, 1).fixed(v); }
  template <class T>
  Message& fixed(T v) {
    char bytes[sizeof v];
    std::memcpy(bytes, &v, sizeof v);
    return raw({bytes, sizeof v});
  }
  Message& packed(std::uint32_t field, std::initializer_list<std::int64_t> values) {
    Message run;
    for (std::int64_t v : values) run.varint(static_cast<std::uint64_t>(v));
    return message(field, run);
  }
  template <class T>
  Message& packed_fixed(std::uint32_t field, std::initializer_list<T> values) {
    Message run;
    for (T v : values) run.fixed(v);
    return message(field, run);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// TensorProto.DataType
enum OnnxType : std::int64_t {
  undefined,
  f32,
  u8,
  i8,
  u16,
  i16,
  i32,
  i64,
  text,
  boolean,
  f16,
  f64,
  u32,
  u64,
  complex64,
  complex128,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  u4,
  i4,
  f4e2m1,
  f8e8m0,
  u2,
  i2
};

// ---- types: a dimension is a number, a name or, when empty, unknown

using Dimension = std::variant<std::int64_t, std::string>;
using Dimensions = std::vector<Dimension>;

inline Message shape(const Dimensions& dims) {
  Message m;
  for (const Dimension& d : dims) {
    Message dim;
    if (const auto* n = std::get_if<std::int64_t>(&d)) dim.number(1, *n);
    if (const auto* s = std::get_if<std::string>(&d); s && !s->empty()) dim.text(2, *s);
    m.message(1, dim);
  }
  return m;
}
inline Message unranked_type(std::int64_t dtype) {
  return Message().message(1, Message().number(1, dtype));
}
inline Message tensor_type(std::int64_t dtype, const Dimensions& dims) {
  return Message().message(1, Message().number(1, dtype).message(2, shape(dims)));
}
inline Message sequence_of(const Message& type) {
  return Message().message(4, Message().message(1, type));
}
inline Message optional_of(const Message& type) {
  return Message().message(9, Message().message(1, type));
}
inline Message value(std::string_view name, const Message& type) {
  return Message().text(1, name).message(2, type);
}
inline Message value(std::string_view name, std::int64_t dtype, const Dimensions& dims) {
  return value(name, tensor_type(dtype, dims));
}

// ---- tensors

inline Message tensor_header(std::string_view name, std::int64_t dtype,
                             std::initializer_list<std::int64_t> dims) {
  Message m;
  for (std::int64_t d : dims) m.number(1, d);
  m.number(2, dtype);
  if (!name.empty()) m.text(8, name);
  return m;
}
template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  std::string s(values.size() * sizeof(T), '\0');
  if (!s.empty()) std::memcpy(s.data(), values.begin(), s.size());
  return s;
}
inline Message raw_tensor(std::string_view name, std::int64_t dtype,
                          std::initializer_list<std::int64_t> dims, std::string_view bytes) {
  return tensor_header(name, dtype, dims).text(9, bytes);
}
inline Message floats(std::string_view name, std::initializer_list<std::int64_t> dims,
                      std::initializer_list<float> values) {
  return raw_tensor(name, f32, dims, bytes_of(values));
}
inline Message ints(std::string_view name, std::initializer_list<std::int64_t> dims,
                    std::initializer_list<std::int64_t> values) {
  return raw_tensor(name, i64, dims, bytes_of(values));
}

// ---- attributes

inline Message attribute(std::string_view name, std::int64_t kind) {
  return Message().text(1, name).number(20, kind);
}
inline Message number(std::string_view name, float v) {
  return attribute(name, 1).real(2, v);
}
inline Message integer(std::string_view name, std::int64_t v) {
  return attribute(name, 2).number(3, v);
}
inline Message word(std::string_view name, std::string_view v) {
  return attribute(name, 3).text(4, v);
}
inline Message tensor(std::string_view name, const Message& v) {
  return attribute(name, 4).message(5, v);
}
inline Message graph(std::string_view name, const Message& v) {
  return attribute(name, 5).message(6, v);
}
inline Message numbers(std::string_view name, std::initializer_list<float> v) {
  Message m = attribute(name, 6);
  for (float x : v) m.real(7, x);
  return m;
}
inline Message integers(std::string_view name, std::initializer_list<std::int64_t> v) {
  Message m = attribute(name, 7);
  for (std::int64_t x : v) m.number(8, x);
  return m;
}
inline Message words(std::string_view name, std::initializer_list<std::string_view> v) {
  Message m = attribute(name, 8);
  for (std::string_view x : v) m.text(9, x);
  return m;
}
inline Message type_of(std::string_view name, const Message& v) {
  return attribute(name, 13).message(14, v);
}
// Inside of a function: the attribute of the call.
inline Message reference(std::string_view name, std::int64_t kind, std::string_view of) {
  return attribute(name, kind).text(21, of);
}

// ---- nodes, graphs, models

using Names = std::vector<std::string_view>;
using Messages = std::vector<Message>;

struct NodeOptions {
  std::string_view name;
  std::string_view domain;
  std::string_view overload;
};
inline Message node(std::string_view op, const Names& inputs, const Names& outputs,
                    const Messages& attributes = {}, const NodeOptions& options = {}) {
  Message m;
  for (std::string_view s : inputs) m.text(1, s);
  for (std::string_view s : outputs) m.text(2, s);
  if (!options.name.empty()) m.text(3, options.name);
  m.text(4, op);
  for (const Message& a : attributes) m.message(5, a);
  if (!options.domain.empty()) m.text(7, options.domain);
  if (!options.overload.empty()) m.text(8, options.overload);
  return m;
}

struct GraphParts {
  std::string_view name = "g";
  Messages nodes;
  Messages inputs;
  Messages outputs;
  Messages initializers;
  Messages sparse_initializers;
  Messages value_info;
};
inline Message make_graph(const GraphParts& parts) {
  Message m;
  for (const Message& n : parts.nodes) m.message(1, n);
  m.text(2, parts.name);
  for (const Message& t : parts.initializers) m.message(5, t);
  for (const Message& v : parts.inputs) m.message(11, v);
  for (const Message& v : parts.outputs) m.message(12, v);
  for (const Message& v : parts.value_info) m.message(13, v);
  for (const Message& t : parts.sparse_initializers) m.message(15, t);
  return m;
}

inline Message opset(std::string_view domain, std::int64_t version) {
  Message m;
  if (!domain.empty()) m.text(1, domain);
  return m.number(2, version);
}

struct FunctionParts {
  std::string_view name;
  std::string_view domain = "own";
  std::string_view overload;
  Names inputs;
  Names outputs;
  Names attributes;
  Messages default_attributes;
  Messages nodes;
  Messages opsets = {opset("", 17)};
};
inline Message make_function(const FunctionParts& parts) {
  Message m;
  m.text(1, parts.name);
  for (std::string_view s : parts.inputs) m.text(4, s);
  for (std::string_view s : parts.outputs) m.text(5, s);
  for (std::string_view s : parts.attributes) m.text(6, s);
  for (const Message& n : parts.nodes) m.message(7, n);
  for (const Message& o : parts.opsets) m.message(9, o);
  m.text(10, parts.domain);
  for (const Message& a : parts.default_attributes) m.message(11, a);
  if (!parts.overload.empty()) m.text(13, parts.overload);
  return m;
}

struct ModelParts {
  std::int64_t ir_version = 8;
  Messages opsets = {opset("", 17)};
  Messages functions;
};
inline std::string make_model(const Message& graph, const ModelParts& parts = {}) {
  Message m;
  m.number(1, parts.ir_version);
  m.message(7, graph);
  for (const Message& o : parts.opsets) m.message(8, o);
  for (const Message& f : parts.functions) m.message(25, f);
  return m.bytes();
}
inline std::string make_model(const GraphParts& graph, std::int64_t version = 17) {
  return make_model(make_graph(graph), {.opsets = {opset("", version)}});
}

}  // namespace quern::onnx_test
