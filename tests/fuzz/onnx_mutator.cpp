// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/onnx_mutator.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "frontends/onnx-parser/write.h"
#include "graph/ops/random.h"
#include "tests/fuzz/random.h"

namespace quern::fuzz {
namespace {

using namespace onnx;  // NOLINT

constexpr std::int32_t type_int64 = 7, type_float = 1;
constexpr std::size_t largest_payload = 4096;

// Operators of one form: each can stand in for another of its row.
const std::vector<std::vector<std::string_view>> families = {
    {"Abs",
     "Neg",
     "Relu",
     "Sqrt",
     "Exp",
     "Log",
     "Tanh",
     "Sigmoid",
     "Erf",
     "Floor",
     "Ceil",
     "Round",
     "HardSigmoid",
     "Elu",
     "Selu",
     "Softplus",
     "Softsign",
     "Identity",
     "Sin",
     "Cos",
     "Reciprocal",
     "LeakyRelu",
     "HardSwish",
     "Celu",
     "ThresholdedRelu",
     "Sign",
     "Not",
     "IsNaN",
     "Flatten",
     "Softmax",
     "LogSoftmax",
     "Hardmax",
     "Transpose",
     "Shape",
     "Size",
     "NonZero",
     "GlobalMaxPool",
     "GlobalAveragePool",
     "LRN",
     "Det",
     "MaxPool",
     "AveragePool",
     "Squeeze"},
    {"Add",         "Sub",   "Mul",    "Div",      "Pow",    "Max",  "Min",
     "Mod",         "And",   "Or",     "Xor",      "Equal",  "Less", "Greater",
     "LessOrEqual", "PRelu", "MatMul", "BitShift", "Concat", "Sum",  "Mean"},
    {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
     "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare", "ArgMax", "ArgMin", "CumSum"},
    {"Reshape", "Expand", "Tile", "Unsqueeze", "Squeeze", "Gather", "Split", "Pad", "Slice",
     "GatherElements", "GatherND", "TopK", "Upsample", "Resize", "Compress", "OneHot"},
    {"Conv", "ConvTranspose", "ConvInteger", "Gemm", "MatMul", "MatMulInteger"},
    {"ScatterElements", "Scatter", "ScatterND", "Where", "Clip", "Range", "Gemm"},
};
constexpr std::string_view words[] = {"SAME_UPPER",
                                      "SAME_LOWER",
                                      "VALID",
                                      "NOTSET",
                                      "linear",
                                      "nearest",
                                      "cubic",
                                      "constant",
                                      "reflect",
                                      "edge",
                                      "wrap",
                                      "add",
                                      "mul",
                                      "max",
                                      "min",
                                      "none",
                                      "mean",
                                      "sum",
                                      "forward",
                                      "reverse",
                                      "bidirectional",
                                      "asymmetric",
                                      "align_corners",
                                      "half_pixel",
                                      "tf_crop_and_resize",
                                      "floor",
                                      "ceil",
                                      "round_prefer_floor",
                                      "bilinear",
                                      "ij,jk->ik",
                                      "DCR",
                                      "CRD",
                                      "RIGHT",
                                      "LEFT",
                                      "",
                                      "ii->i",
                                      "...ij->...ji"};

class Mutator {
 public:
  Mutator(ModelProto& model, std::uint64_t seed, TextPool& pool)
      : model_(model), random_(seed), pool_(pool) {}

  void change() {
    collect(model_.graph[0]);
    for (int tries = 0; tries < 8; ++tries)
      if (change_once()) return;
  }

 private:
  bool change_once() {
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2: return change_attribute();
      case 3: return change_attribute_list();
      case 4: return change_type();
      case 5: return change_dims();
      case 6:
      case 7: return change_edge();
      case 8: return change_operator();
      case 9: return add_node();
      case 10: return move_node();
      case 11: return change_outputs();
      case 12: return change_initializer_dims();
      case 13:
      case 14: return change_elements();
      default: return exchange_input_and_initializer();
    }
  }

  // ---- what there is

  void collect(GraphProto& g) {
    graphs_.push_back(&g);
    for (ValueInfo& v : g.inputs) note(v.name, &v.type);
    for (ValueInfo& v : g.outputs) types_.push_back(&v.type);
    for (ValueInfo& v : g.value_info) types_.push_back(&v.type);
    for (TensorProto& t : g.initializers) {
      names_.push_back(t.name);
      tensors_.push_back(&t);
    }
    for (NodeProto& n : g.nodes) {
      nodes_.push_back(&n);
      for (std::string_view out : n.outputs)
        if (!out.empty()) names_.push_back(out);
      for (AttributeProto& a : n.attributes) {
        attributes_.push_back(&a);
        for (TensorProto& t : a.t) tensors_.push_back(&t);
        for (GraphProto& body : a.g) collect(body);
      }
    }
  }
  void note(std::string_view name, TypeProto* type) {
    names_.push_back(name);
    types_.push_back(type);
    if (type->has_shape) lengths_.push_back(static_cast<std::int64_t>(type->dims.size()));
    for (const Dimension& d : type->dims)
      if (d.has_value) lengths_.push_back(d.value);
  }

  // ---- numbers where mistakes live

  std::int64_t integer(std::int64_t was) {
    const std::int64_t length = lengths_.empty() ? 2 : random_.of(lengths_);
    switch (random_.below(14)) {
      case 0: return -1;
      case 1: return 0;
      case 2: return 1;
      case 3: return 2;
      case 4: return length;
      case 5: return wrapped(length, 1);
      case 6: return wrapped(length, -1);
      case 7: return wrapped(0, wrapped(0, -1) * static_cast<std::int64_t>(random_.below(6)));
      case 8: return wrapped(was, 1);
      case 9: return wrapped(was, -1);
      case 10: return was == std::numeric_limits<std::int64_t>::min() ? was : -was;
      case 11: return static_cast<std::int64_t>(random_.below(9));
      case 12: return extreme();
      default: return was;
    }
  }
  std::int64_t extreme() {
    constexpr std::int64_t all[] = {std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int32_t>::max(),
                                    std::numeric_limits<std::int32_t>::min(),
                                    255,
                                    4096};
    return all[random_.below(std::size(all))];
  }
  static std::int64_t wrapped(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  float real(float was) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    constexpr float all[] = {0, -0.0F, 1, -1, 0.5F, 2, 1e-6F, 1e30F, -inf, inf};
    if (random_.one_in(4)) return was * 2;
    if (random_.one_in(12)) return std::numeric_limits<float>::quiet_NaN();
    return all[random_.below(std::size(all))];
  }

  // ---- attributes

  bool change_attribute() {
    if (attributes_.empty()) return add_attribute();
    AttributeProto& a = *random_.of(attributes_);
    switch (a.kind) {
      case AttributeKind::integer: a.i = integer(a.i); return true;
      case AttributeKind::number: a.f = real(a.f); return true;
      case AttributeKind::text: a.s = words[random_.below(std::size(words))]; return true;
      case AttributeKind::integers: return change_integers(a.ints);
      case AttributeKind::numbers:
        if (a.floats.empty()) return false;
        a.floats[random_.below(a.floats.size())] = real(1);
        return true;
      default: return false;
    }
  }
  bool change_integers(std::vector<std::int64_t>& all) {
    if (all.empty() || random_.one_in(8)) {
      all.push_back(integer(1));
    } else if (random_.one_in(8)) {
      all.pop_back();
    } else {
      std::int64_t& one = random_.of(all);
      one = integer(one);
    }
    return true;
  }
  // One goes, comes twice, or takes the name of another.
  bool change_attribute_list() {
    if (nodes_.empty()) return false;
    std::vector<AttributeProto>& all = random_.of(nodes_)->attributes;
    if (all.empty()) return add_attribute();
    const std::size_t at = random_.below(all.size());
    switch (random_.below(3)) {
      case 0: all.erase(all.begin() + static_cast<std::ptrdiff_t>(at)); return true;
      case 1: all[at].name = random_.of(attributes_)->name; return true;
      default: return add_attribute();
    }
  }
  bool add_attribute() {
    constexpr std::string_view names[] = {"axis",
                                          "keepdims",
                                          "axes",
                                          "perm",
                                          "to",
                                          "ceil_mode",
                                          "dilations",
                                          "group",
                                          "pads",
                                          "strides",
                                          "mode",
                                          "kernel_shape",
                                          "alpha",
                                          "beta",
                                          "auto_pad",
                                          "transA",
                                          "exclusive",
                                          "largest",
                                          "count_include_pad",
                                          "batch_dims",
                                          "direction",
                                          "epsilon",
                                          "output_padding"};
    if (nodes_.empty()) return false;
    const std::string_view name = names[random_.below(std::size(names))];
    const std::int64_t list[] = {integer(1), integer(1)};
    AttributeProto made = random_.one_in(3)   ? integers_attribute(name, list)
                          : random_.one_in(4) ? number_attribute(name, real(1))
                          : random_.one_in(4)
                              ? text_attribute(name, words[random_.below(std::size(words))])
                              : integer_attribute(name, integer(1));
    random_.of(nodes_)->attributes.push_back(std::move(made));
    return true;
  }

  // ---- types and shapes

  bool change_type() {
    if (types_.empty()) return false;
    TypeProto& t = *random_.of(types_);
    if (t.kind == TypeProto::Kind::tensor && !random_.one_in(10)) {
      t.elem_type = static_cast<std::int32_t>(random_.below(24));
    } else if (t.element.empty()) {
      TypeProto inner = t;
      t = TypeProto();
      t.kind = random_.one_in(2) ? TypeProto::Kind::sequence : TypeProto::Kind::optional;
      t.element.push_back(std::move(inner));
    } else {
      TypeProto inner = t.element[0];
      t = std::move(inner);
    }
    return true;
  }
  bool change_dims() {
    if (types_.empty()) return false;
    TypeProto& t = *random_.of(types_);
    if (t.kind != TypeProto::Kind::tensor) return false;
    if (!t.has_shape || t.dims.empty() || random_.one_in(6)) {
      t.has_shape = !t.has_shape;
      if (t.has_shape) t.dims.assign(random_.below(5), Dimension{true, 2, {}});
      return true;
    }
    Dimension& d = random_.of(t.dims);
    switch (random_.below(6)) {
      case 0: t.dims.pop_back(); break;
      case 1: t.dims.push_back(Dimension{true, integer(1), {}}); break;
      case 2: d = {false, 0, random_.one_in(2) ? "n" : ""}; break;
      default: d = {true, integer(d.value), {}};
    }
    return true;
  }

  // ---- edges and nodes

  bool change_edge() {
    if (nodes_.empty() || names_.empty()) return false;
    NodeProto& n = *random_.of(nodes_);
    if (n.inputs.empty() || random_.one_in(10)) {
      n.inputs.push_back(random_.of(names_));
      return true;
    }
    std::string_view& in = random_.of(n.inputs);
    switch (random_.below(6)) {
      case 0: in = ""; break;
      case 1: n.inputs.pop_back(); break;
      case 2: std::swap(in, random_.of(n.inputs)); break;
      default: in = random_.of(names_);
    }
    return true;
  }
  bool change_operator() {
    if (nodes_.empty()) return false;
    NodeProto& n = *random_.of(nodes_);
    for (const auto& family : families)
      if (std::ranges::find(family, n.op_type) != family.end()) {
        n.op_type = random_.of(family);
        return true;
      }
    n.op_type = random_.of(families[random_.below(families.size())]);
    return true;
  }
  std::string_view new_name() { return pool_.keep("new" + std::to_string(random_.below(1 << 20))); }
  // On an edge of some node, or beside it: another reader of the same value, whose result is an
  // output.
  bool add_node() {
    if (nodes_.empty() || names_.empty()) return false;
    GraphProto& g = *random_.of(graphs_);
    if (g.nodes.empty()) return false;
    const std::size_t at = random_.below(g.nodes.size());
    NodeProto made;
    const auto& family = families[random_.below(4)];
    made.op_type = random_.of(family);
    const std::string_view out = new_name();
    made.outputs = {out};
    std::vector<std::string_view>& inputs = g.nodes[at].inputs;
    made.inputs = {inputs.empty() ? random_.of(names_) : random_.of(inputs)};
    if (&family != &families[0]) made.inputs.push_back(random_.of(names_));
    if (!inputs.empty() && !random_.one_in(3))
      std::ranges::replace(inputs, made.inputs[0], out);
    else
      g.outputs.push_back({out, unknown_like(g)});
    g.nodes.insert(g.nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(made));
    return true;
  }
  // The type of some output, without its shape.
  TypeProto unknown_like(const GraphProto& g) {
    TypeProto type;
    type.kind = TypeProto::Kind::tensor;
    type.elem_type = g.outputs.empty() || g.outputs[0].type.kind != TypeProto::Kind::tensor
                         ? type_float
                         : g.outputs[random_.below(g.outputs.size())].type.elem_type;
    return type;
  }
  bool move_node() {
    GraphProto& g = *random_.of(graphs_);
    if (g.nodes.empty()) return false;
    const auto at = g.nodes.begin() + static_cast<std::ptrdiff_t>(random_.below(g.nodes.size()));
    switch (random_.below(3)) {
      case 0: g.nodes.erase(at); return true;
      case 1: std::swap(*at, random_.of(g.nodes)); return true;
      default: {  // the same twice, all its values under new names
        NodeProto copy = *at;
        for (std::string_view& out : copy.outputs)
          if (!out.empty()) {
            out = new_name();
            g.outputs.push_back({out, unknown_like(g)});
          }
        g.nodes.insert(at + 1, std::move(copy));
        return true;
      }
    }
  }
  // An intermediate value, an input or the same once more becomes an output, or one goes.
  bool change_outputs() {
    GraphProto& g = *random_.of(graphs_);
    if (names_.empty()) return false;
    if (!g.outputs.empty() && random_.one_in(5)) {
      g.outputs.erase(g.outputs.begin() +
                      static_cast<std::ptrdiff_t>(random_.below(g.outputs.size())));
    } else if (!g.outputs.empty() && random_.one_in(5)) {
      g.outputs.push_back(random_.of(g.outputs));
    } else {
      const std::string_view name = random_.of(names_);
      TypeProto type = unknown_like(g);
      for (const ValueInfo& v : g.inputs)
        if (v.name == name) type = v.type;
      g.outputs.push_back({name, std::move(type)});
    }
    return true;
  }

  // ---- constants

  bool change_initializer_dims() {
    if (tensors_.empty()) return false;
    std::vector<std::int64_t>& dims = random_.of(tensors_)->dims;
    if (dims.size() > 1 && random_.one_in(2)) {
      std::swap(random_.of(dims), random_.of(dims));
      return true;
    }
    return change_integers(dims);
  }
  bool change_elements() {
    if (tensors_.empty()) return false;
    TensorProto& t = *random_.of(tensors_);
    if (!t.has_raw || t.raw.empty()) return false;
    std::string raw(t.raw);
    const std::size_t size = t.data_type == type_int64 ? 8 : t.data_type == type_float ? 4 : 1;
    const std::size_t at = random_.below(raw.size() / size) * size;
    if (at + size > raw.size()) return false;
    if (size == 8) {
      std::int64_t v = 0;
      std::memcpy(&v, raw.data() + at, 8);
      v = integer(v);
      std::memcpy(raw.data() + at, &v, 8);
    } else if (size == 4) {
      float v = 0;
      std::memcpy(&v, raw.data() + at, 4);
      v = real(v);
      std::memcpy(raw.data() + at, &v, 4);
    } else {
      raw[at] = static_cast<char>(integer(raw[at]));
    }
    t.raw = pool_.keep(std::move(raw));
    return true;
  }
  // This turns an initialiser into an input, or gives an input a constant value.
  bool exchange_input_and_initializer() {
    GraphProto& g = model_.graph[0];
    if (!g.initializers.empty() && random_.one_in(2)) {
      const auto at = g.initializers.begin() +
                      static_cast<std::ptrdiff_t>(random_.below(g.initializers.size()));
      TypeProto type;
      type.kind = TypeProto::Kind::tensor;
      type.has_shape = true;
      type.elem_type = at->data_type;
      for (std::int64_t d : at->dims) type.dims.push_back({true, d, {}});
      const std::string_view name = at->name;
      g.initializers.erase(at);
      g.inputs.push_back({name, std::move(type)});
      return true;
    }
    return constant_for_input(g);
  }
  bool constant_for_input(GraphProto& g) {
    if (g.inputs.empty()) return false;
    const auto at = g.inputs.begin() + static_cast<std::ptrdiff_t>(random_.below(g.inputs.size()));
    const TypeProto& type = at->type;
    const std::size_t size = type.elem_type == type_int64   ? 8
                             : type.elem_type == type_float ? 4
                                                            : 1;
    if (type.kind != TypeProto::Kind::tensor || !type.has_shape) return false;
    TensorProto made;
    made.name = at->name;
    made.data_type = type.elem_type;
    std::size_t bytes = size;
    for (const Dimension& d : type.dims) {
      if (!d.has_value || d.value < 0 || d.value > 64) return false;
      made.dims.push_back(d.value);
      bytes *= static_cast<std::size_t>(d.value);
    }
    if (bytes > largest_payload) return false;
    std::string raw(bytes, '\0');
    for (std::size_t i = 0; i + size <= bytes; i += size) {
      const std::int64_t v = static_cast<std::int64_t>(random_.below(5)) - 1;
      const float f = static_cast<float>(v) / 2;
      std::memcpy(raw.data() + i, size == 4 ? static_cast<const void*>(&f) : &v, size);
    }
    made.has_raw = true;
    made.raw = pool_.keep(std::move(raw));
    if (random_.one_in(2)) g.inputs.erase(at);  // else a default
    g.initializers.push_back(std::move(made));
    return true;
  }

  ModelProto& model_;
  Random random_;
  TextPool& pool_;
  std::vector<GraphProto*> graphs_;
  std::vector<NodeProto*> nodes_;
  std::vector<AttributeProto*> attributes_;
  std::vector<TypeProto*> types_;
  std::vector<TensorProto*> tensors_;
  std::vector<std::string_view> names_;
  std::vector<std::int64_t> lengths_;
};

std::string with_one_byte_changed(std::string_view bytes, Random& random) {
  std::string changed(bytes);
  if (changed.empty()) return std::string(1, '\n');
  changed[random.below(changed.size())] = static_cast<char>(random.next());
  return changed;
}

}  // namespace

std::string mutate_model(std::string_view bytes, std::uint64_t seed) {
  Random random(seed);
  constexpr ProtoLimits limits{.memory_bytes = std::size_t{16} << 20};
  auto model = read_model(bytes, limits);
  if (!model || model->graph.empty() || random.one_in(50))
    return with_one_byte_changed(bytes, random);
  TextPool pool;
  if (!model->opsets.empty() && random.one_in(40)) {
    model->opsets[0].version = 7 + static_cast<std::int64_t>(random.below(17));
  } else {
    Mutator(*model, random.next(), pool).change();
  }
  return write_model(*model);
}

}  // namespace quern::fuzz
