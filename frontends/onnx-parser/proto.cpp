// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/proto.h"

#include <array>

#include "engine/vocabulary/text_util.h"

namespace quern::onnx {
namespace {

constexpr int type_depth_max = 8;

// The single element of a sub-message field; a repeated occurrence is merged into it.
template <class T>
T& only(WireReader& r, std::vector<T>& elements) {
  return elements.empty() ? r.add(elements) : elements.front();
}

// Charges and reserves memory for the repeated sub-messages of a message before any is built, so
// that a file with a million empty ones costs only one pass over its bytes.
template <std::size_t N>
std::array<std::size_t, N> count_fields(WireReader r, const std::array<std::uint32_t, N>& fields) {
  std::array<std::size_t, N> counts{};
  while (r.next()) {
    for (std::size_t i = 0; i < N; ++i) counts[i] += r.field() == fields[i];
    r.skip();
  }
  return counts;
}
template <class T>
void make_room(WireReader& r, std::vector<T>& elements, std::size_t count) {
  if (r.charge(count, sizeof(T))) elements.reserve(elements.size() + count);
}
// The next of the elements that make_room has charged.
template <class T>
T& paid(std::vector<T>& elements) {
  return elements.emplace_back();
}

void read(WireReader r, StringEntry& entry) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(entry.key); break;
      case 2: r.read(entry.value); break;
      default: r.skip();
    }
  }
}

void read(WireReader r, OperatorSetId& opset) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(opset.domain); break;
      case 2: r.read(opset.version); break;
      default: r.skip();
    }
  }
}

// ---- types

// dim_value and dim_param form a oneof: the last one counts.
void read(WireReader r, Dimension& dim) {
  while (r.next()) {
    switch (r.field()) {
      case 1:
        r.read(dim.value);
        dim.has_value = true;
        dim.param = {};
        break;
      case 2:
        r.read(dim.param);
        dim.has_value = false;
        break;
      default: r.skip();
    }
  }
}

void read_shape(WireReader r, std::vector<Dimension>& dims) {
  while (r.next()) {
    if (r.field() == 1) {
      Dimension& dim = r.add(dims);
      read(r.message(), dim);
    } else {
      r.skip();
    }
  }
}

void read_tensor_type(WireReader r, TypeProto& type) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(type.elem_type); break;
      case 2:
        type.has_shape = true;
        read_shape(r.message(), type.dims);
        break;
      default: r.skip();
    }
  }
}

void read(WireReader r, TypeProto& type, int depth);

void read_element_type(WireReader r, TypeProto& type, int depth) {
  while (r.next()) {
    if (r.field() == 1) {
      TypeProto& element = only(r, type.element);
      read(r.message(), element, depth - 1);
    } else {
      r.skip();
    }
  }
}

void read_map_type(WireReader r, TypeProto& type, int depth) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(type.elem_type); break;
      case 2: {
        TypeProto& values = only(r, type.element);
        read(r.message(), values, depth - 1);
        break;
      }
      default: r.skip();
    }
  }
}

TypeProto::Kind type_kind(std::uint32_t field) {
  switch (field) {
    case 1: return TypeProto::Kind::tensor;
    case 4: return TypeProto::Kind::sequence;
    case 5: return TypeProto::Kind::map;
    case 7: return TypeProto::Kind::opaque;
    case 8: return TypeProto::Kind::sparse_tensor;
    case 9: return TypeProto::Kind::optional;
    default: return TypeProto::Kind::none;
  }
}

void read(WireReader r, TypeProto& type, int depth) {
  if (depth <= 0) return r.fail(cat("types nest deeper than ", type_depth_max));
  while (r.next()) {
    const TypeProto::Kind kind = type_kind(r.field());
    if (kind == TypeProto::Kind::none) {
      r.skip();
      continue;
    }
    if (type.kind != kind) type = {.kind = kind};
    const WireReader body = r.message();
    if (kind == TypeProto::Kind::tensor) read_tensor_type(body, type);
    if (kind == TypeProto::Kind::sequence || kind == TypeProto::Kind::optional)
      read_element_type(body, type, depth);
    if (kind == TypeProto::Kind::map) read_map_type(body, type, depth);
  }
}

void read(WireReader r, ValueInfo& value) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(value.name); break;
      case 2: read(r.message(), value.type, type_depth_max); break;
      default: r.skip();
    }
  }
}

// ---- tensors

void read(std::string_view bytes, WireState& state, TensorProto& tensor) {
  WireReader r(bytes, state);
  std::int64_t location = tensor.is_external ? 1 : 0;
  if (r.charge(1, sizeof bytes)) tensor.parts.push_back(bytes);
  while (r.next()) {
    switch (r.field()) {
      case 1: r.append(tensor.dims); break;
      case 2: r.read(tensor.data_type); break;
      case 8: r.read(tensor.name); break;
      case 9:
        r.read(tensor.raw);
        tensor.has_raw = true;
        break;
      case 13: {
        StringEntry& entry = r.add(tensor.external);
        read(r.message(), entry);
        break;
      }
      case 14: r.read(location); break;
      default: r.skip();  // typed fields are decoded later, from `parts`
    }
  }
  tensor.is_external = location == 1;
}

void read(WireReader& r, TensorProto& tensor) {
  read(r.message_bytes(), r.state(), tensor);
}

void read(WireReader r, SparseTensorProto& tensor) {
  while (r.next()) {
    switch (r.field()) {
      case 1: read(r, tensor.values); break;
      case 2: read(r, tensor.indices); break;
      case 3: r.append(tensor.dims); break;
      default: r.skip();
    }
  }
}

// ---- nodes and graphs

void read(WireReader r, GraphProto& graph, int depth);

AttributeKind attribute_kind(std::int32_t type) {
  using K = AttributeKind;
  constexpr std::array<K, 15> kinds = {K::undefined,      K::number,  K::integer, K::text,
                                       K::tensor,         K::graph,   K::numbers, K::integers,
                                       K::texts,          K::tensors, K::graphs,  K::sparse_tensor,
                                       K::sparse_tensors, K::type,    K::types};
  return type > 0 && type < static_cast<std::int32_t>(kinds.size())
             ? kinds[static_cast<std::size_t>(type)]
             : K::undefined;
}

// The kind of an attribute without a type (files of IR version 1 and 2), derived from the field
// that it has.
AttributeKind kind_of_field(std::uint32_t field) {
  using K = AttributeKind;
  switch (field) {
    case 2: return K::number;
    case 3: return K::integer;
    case 4: return K::text;
    case 5: return K::tensor;
    case 6: return K::graph;
    case 7: return K::numbers;
    case 8: return K::integers;
    case 9: return K::texts;
    case 10: return K::tensors;
    case 11: return K::graphs;
    case 14: return K::type;
    case 15: return K::types;
    case 22: return K::sparse_tensor;
    case 23: return K::sparse_tensors;
    default: return K::undefined;
  }
}

void read_sub_message(WireReader& r, AttributeProto& a, int depth) {
  switch (r.field()) {
    case 5: return read(r, only(r, a.t));
    case 10: return read(r, r.add(a.tensors));
    case 6: return read(r.message(), only(r, a.g), depth - 1);
    case 11: return read(r.message(), r.add(a.graphs), depth - 1);
    case 14: return read(r.message(), only(r, a.type), type_depth_max);
    case 15: return read(r.message(), r.add(a.types), type_depth_max);
    case 22: return read(r.message(), only(r, a.sparse));
    case 23: return read(r.message(), r.add(a.sparse_tensors));
    default: r.skip();
  }
}

void read(WireReader r, AttributeProto& a, int depth) {
  std::int32_t type = 0;
  AttributeKind by_field = a.kind;
  while (r.next()) {
    if (const AttributeKind k = kind_of_field(r.field()); k != AttributeKind::undefined)
      by_field = k;
    switch (r.field()) {
      case 1: r.read(a.name); break;
      case 2: r.read(a.f); break;
      case 3: r.read(a.i); break;
      case 4: r.read(a.s); break;
      case 7: r.append(a.floats); break;
      case 8: r.append(a.ints); break;
      case 9: r.append(a.strings); break;
      case 20: r.read(type); break;
      case 21: r.read(a.ref_name); break;
      default: read_sub_message(r, a, depth);
    }
  }
  a.kind = type == 0 ? by_field : attribute_kind(type);
}

void read(WireReader r, NodeProto& node, int depth) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.append(node.inputs); break;
      case 2: r.append(node.outputs); break;
      case 3: r.read(node.name); break;
      case 4: r.read(node.op_type); break;
      case 5: {
        AttributeProto& attribute = r.add(node.attributes);
        read(r.message(), attribute, depth);
        break;
      }
      case 7: r.read(node.domain); break;
      case 8: r.read(node.overload); break;
      default: r.skip();
    }
  }
}

void read_elements(WireReader r, GraphProto& graph, int depth) {
  while (r.next()) {
    switch (r.field()) {
      case 1: read(r.message(), paid(graph.nodes), depth); break;
      case 2: r.read(graph.name); break;
      case 5: read(r, paid(graph.initializers)); break;
      case 11: read(r.message(), paid(graph.inputs)); break;
      case 12: read(r.message(), paid(graph.outputs)); break;
      case 13: read(r.message(), paid(graph.value_info)); break;
      case 15: read(r.message(), paid(graph.sparse_initializers)); break;
      default: r.skip();
    }
  }
}

void read(WireReader r, GraphProto& graph, int depth) {
  if (depth <= 0) return r.fail("graphs nest deeper than this importer allows");
  const auto counts = count_fields<6>(r, {1, 5, 11, 12, 13, 15});
  make_room(r, graph.nodes, counts[0]);
  make_room(r, graph.initializers, counts[1]);
  make_room(r, graph.inputs, counts[2]);
  make_room(r, graph.outputs, counts[3]);
  make_room(r, graph.value_info, counts[4]);
  make_room(r, graph.sparse_initializers, counts[5]);
  read_elements(r, graph, depth);
}

void read(WireReader r, FunctionProto& function, int depth) {
  const auto counts = count_fields<1>(r, {7});
  make_room(r, function.nodes, counts[0]);
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(function.name); break;
      case 4: r.append(function.inputs); break;
      case 5: r.append(function.outputs); break;
      case 7: read(r.message(), paid(function.nodes), depth); break;
      case 9: read(r.message(), r.add(function.opsets)); break;
      case 10: r.read(function.domain); break;
      case 11: read(r.message(), r.add(function.default_attributes), depth); break;
      case 13: r.read(function.overload); break;
      default: r.skip();
    }
  }
}

void read(WireReader r, ModelProto& model, int depth) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(model.ir_version); break;
      case 2: r.read(model.producer_name); break;
      case 3: r.read(model.producer_version); break;
      case 4: r.read(model.domain); break;
      case 5: r.read(model.model_version); break;
      case 6: r.read(model.doc_string); break;
      case 7: read(r.message(), only(r, model.graph), depth); break;
      case 8: read(r.message(), r.add(model.opsets)); break;
      case 14: read(r.message(), r.add(model.metadata)); break;
      case 25: read(r.message(), r.add(model.functions), depth); break;
      default: r.skip();
    }
  }
}

// ---- values in files

void read(WireReader r, SequenceProto& sequence) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(sequence.name); break;
      case 3: read(r, r.add(sequence.tensors)); break;
      case 4:
      case 5:
      case 6:
      case 7: r.fail("the sequence holds something else than tensors", Code::unsupported); break;
      default: r.skip();
    }
  }
}

void read(WireReader r, OptionalProto& optional) {
  while (r.next()) {
    switch (r.field()) {
      case 1: r.read(optional.name); break;
      case 3: read(r, only(r, optional.tensor)); break;
      case 5: read(r.message(), only(r, optional.sequence)); break;
      case 4:
      case 6:
      case 7:
        r.fail("the optional holds neither a tensor nor a sequence of them", Code::unsupported);
        break;
      default: r.skip();
    }
  }
}

template <class Message, class Read>
Result<Message> read_all(std::string_view bytes, const ProtoLimits& limits, Read read_message,
                         std::size_t* taken = nullptr) {
  WireState state(bytes, limits.memory_bytes, limits.stop);
  Message message;
  read_message(state, message);
  QUERN_TRY(state.status());
  if (taken) *taken = state.charged();
  return message;
}

}  // namespace

Result<ModelProto> read_model(std::string_view bytes, const ProtoLimits& limits,
                              std::size_t* taken) {
  return read_all<ModelProto>(
      bytes, limits,
      [&](WireState& state, ModelProto& model) {
        read(WireReader(bytes, state), model, limits.graph_depth);
      },
      taken);
}

Result<TensorProto> read_tensor(std::string_view bytes, const ProtoLimits& limits) {
  return read_all<TensorProto>(
      bytes, limits, [&](WireState& state, TensorProto& tensor) { read(bytes, state, tensor); });
}

Result<SequenceProto> read_sequence(std::string_view bytes, const ProtoLimits& limits) {
  return read_all<SequenceProto>(bytes, limits, [&](WireState& state, SequenceProto& sequence) {
    read(WireReader(bytes, state), sequence);
  });
}

Result<OptionalProto> read_optional(std::string_view bytes, const ProtoLimits& limits) {
  return read_all<OptionalProto>(bytes, limits, [&](WireState& state, OptionalProto& optional) {
    read(WireReader(bytes, state), optional);
  });
}

}  // namespace quern::onnx
