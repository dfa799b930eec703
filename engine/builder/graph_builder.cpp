// SPDX-License-Identifier: Apache-2.0
// The builder itself: operands, errors, nodes and bodies. The operators are in one file per family.
#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>

#include <quern/graph_builder.h>

#include "engine/builder/graph_builder_impl.h"
#include "engine/vocabulary/guarded.h"
#include "engine/vocabulary/text_util.h"
#include "graph/numeric.h"
#include "graph/op_fields.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace quern {
namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last =
      0;  // so that a stranger's operand is always known as one
  return ++last;
}

// "conv_3", "relu_4": the default name of an operation is its kind and its number in the graph.
std::string default_name(const Graph& g, const Op& op) {
  std::string name = small_letters(op.def().name);
  if (name == "unary" || name == "binary" || name == "rnn")
    for_each_field(op, [&](std::string_view field, const auto& v) {
      if constexpr (requires { v.names; })
        if (field == "kind") name = v.name();
    });
  return cat(name, "_", g.node_count());
}

struct ElementBits {
  double value;

  template <class T>
  std::uint64_t operator()(TypeTag<T>) const {
    std::uint64_t bits = 0;
    if constexpr (!std::is_same_v<T, StringRef>) {
      const T element = convert<T>(value);
      std::memcpy(&bits, &element, sizeof element);
    }
    return bits;
  }
};

}  // namespace

std::uint64_t element_bits(double value, DType dtype) {
  return visit_dtype(dtype, ElementBits{value});
}

GraphBuilder::Impl::Impl(std::string name) : number(next_number()), graph(builtin_ops()) {
  graph.name = std::move(name);
}

void GraphBuilder::Impl::fail(Status status) {
  if (error.ok()) error = std::move(status);
}

void GraphBuilder::Impl::fail(std::string_view operation, std::string_view what) {
  fail(Status(Code::invalid_argument, cat("operation '", printable(operation), "': ", what)));
}

// ---- operands ----------------------------------------------------------------------------------

std::optional<ValueId> GraphBuilder::Impl::value(std::string_view operation, Operand operand) {
  if (!operand.present()) return no_value;
  if (operand.builder_ == number && operand.value_ < graph.value_count())
    return ValueId{operand.value_};
  fail(operation, "takes an operand of another builder");
  return std::nullopt;
}

Operand GraphBuilder::Impl::constant(Tensor tensor) {
  if (!error.ok()) return {};
  if (tensor.valid()) return operand(graph.add_constant(std::move(tensor)));
  fail("constant", "the tensor holds nothing");
  return {};
}

Operand GraphBuilder::Impl::integers(const IntList& list) {
  return constant(Tensor::from_values<std::int64_t>(
      DType::i64, {static_cast<std::int64_t>(list.size())}, list));
}

Operand GraphBuilder::Impl::integers(const Integers& integers) {
  if (integers.operand.present() || !integers.given) return integers.operand;
  return this->integers(integers.list);
}

std::vector<ValueType> GraphBuilder::Impl::types(std::string_view operation,
                                                 std::span<const Operand> operands) {
  std::vector<ValueType> types;
  for (Operand o : operands) {
    const auto id = value(operation, o);
    if (id == no_value) fail(operation, "an operand that its body reads is left out");
    if (!error.ok()) return {};
    types.push_back(graph.type(*id));
  }
  return types;
}

// ---- nodes -------------------------------------------------------------------------------------

Operands GraphBuilder::Impl::emit(Op op, const Operands& operands, std::size_t outputs,
                                  std::vector<Graph> bodies) {
  Operands results(outputs);
  if (!error.ok()) return results;
  std::string name = default_name(graph, op);
  std::vector<ValueId> inputs;
  for (Operand o : operands) {
    const auto id = value(name, o);
    if (!id) return results;
    inputs.push_back(*id);
  }
  while (!inputs.empty() && inputs.back() == no_value) inputs.pop_back();
  auto node =
      graph.add_node(std::move(op), std::move(inputs), std::move(name), outputs, std::move(bodies));
  if (!node) {
    fail(std::move(node).error());
    return results;
  }
  for (std::size_t i = 0; i < outputs; ++i) results[i] = operand(graph.node(*node).outputs[i]);
  return results;
}

Operand GraphBuilder::Impl::emit(Op op, const Operands& operands) {
  return emit(std::move(op), operands, 1).front();
}

std::optional<Graph> GraphBuilder::Impl::body(std::string_view operation, const Body& body,
                                              std::span<const ValueType> inputs) {
  if (!error.ok()) return std::nullopt;
  if (!body) {
    fail(operation, "has no body");
    return std::nullopt;
  }
  GraphBuilder inner(cat(operation, " body"));
  Impl& in = *inner.impl_;
  Operands operands;
  for (const ValueType& type : inputs)
    operands.push_back(in.operand(in.graph.add_input({}, in.graph.adopt(type, graph))));
  for (Operand o : body(inner, operands)) {
    const auto id = in.value("result", o);
    if (id == no_value) in.fail("result", "is left out");
    if (!in.error.ok()) break;
    in.graph.add_output(*id, {});
  }
  if (in.error.ok()) return std::move(in.graph);
  fail(std::move(in.error).in(cat("body of '", operation, "'")));
  return std::nullopt;
}

// ---- the builder -------------------------------------------------------------------------------

GraphBuilder::GraphBuilder(std::string name) : impl_(std::make_unique<Impl>(std::move(name))) {}
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;
GraphBuilder::~GraphBuilder() = default;

const Status& GraphBuilder::status() const {
  return impl_->error;
}

Operand GraphBuilder::input(std::string name, DType dtype, const std::vector<Dimension>& dims) {
  Graph& g = impl_->graph;
  if (dims.size() > Shape::max_rank)
    impl_->fail(
        name, cat("has ", dims.size(), " dimensions, at most ", Shape::max_rank, " are supported"));
  if (!impl_->input_names.insert(name).second) impl_->fail(name, "is the name of another input");
  Dims list;
  for (const Dimension& d : dims) {
    if (d.value < -1) impl_->fail(name, cat("has a dimension of ", d.value));
    list.push_back(d.name.empty() ? Dim(d.value) : g.symbol(d.name));
  }
  if (!status().ok()) return {};
  return impl_->operand(g.add_input(std::move(name), {dtype, std::move(list)}));
}

Operand GraphBuilder::input_of_any_rank(std::string name, DType dtype) {
  if (!impl_->input_names.insert(name).second) impl_->fail(name, "is the name of another input");
  if (!status().ok()) return {};
  return impl_->operand(impl_->graph.add_input(std::move(name), {dtype, std::nullopt}));
}

Operand GraphBuilder::constant(Tensor tensor) {
  return impl_->constant(std::move(tensor));
}
Operand GraphBuilder::scalar(double value, DType dtype) {
  if (dtype == DType::string) impl_->fail("scalar", "a string is no number");
  const std::uint64_t bits = element_bits(value, dtype);
  auto tensor =
      Tensor::copy_of({dtype, {}}, std::as_bytes(std::span(&bits, 1)).first(quern::size_of(dtype)));
  return impl_->constant(tensor ? *std::move(tensor) : Tensor());
}
Operand GraphBuilder::integers(const IntList& list) {
  return impl_->integers(list);
}

void GraphBuilder::output(std::string name, Operand value) {
  if (!impl_->output_names.insert(name).second) impl_->fail(name, "is the name of another output");
  const auto id = impl_->value(name, value);
  if (id == no_value) impl_->fail(name, "an output must be a value");
  if (status().ok()) impl_->graph.add_output(*id, std::move(name));
}

Operand GraphBuilder::named(std::string name, Operand value) {
  const auto id = impl_->value(name, value);
  if (!status().ok() || id == no_value) return value;
  const NodeId producer = impl_->graph.value(*id).producer;
  if (producer != no_node) {
    impl_->graph.set_node_name(producer, name);
    impl_->graph.set_name(*id, std::move(name));
  }
  return value;
}

Result<Model> GraphBuilder::build() {
  return guarded([&]() -> Result<Model> {
    Impl done = std::move(*impl_);
    *impl_ = Impl(done.graph.name);
    QUERN_TRY(std::move(done.error));
    if (done.graph.outputs().empty())
      return Status(Code::invalid_argument,
                    cat("graph '", printable(done.graph.name), "' has no output"));
    QUERN_TRY(verify(done.graph));
    ModelMetadata metadata;
    metadata.producer_name = "quern";
    metadata.graph_name = done.graph.name;
    return Model(std::make_unique<Graph>(std::move(done.graph)), std::move(metadata));
  });
}

Operands GraphBuilder::ops(std::string_view family, const Operands& operands,
                           std::string_view attributes, std::size_t outputs) {
  auto op = make_op(family, attributes);
  if (!op) {
    impl_->fail(family, op.error().message());
    return Operands(outputs);
  }
  return impl_->emit(*std::move(op), operands, outputs);
}

Operand GraphBuilder::op(std::string_view family, const Operands& operands,
                         std::string_view attributes) {
  return ops(family, operands, attributes, 1).front();
}

Operands GraphBuilder::ops(Op op, const Operands& operands, std::size_t outputs) {
  return impl_->emit(std::move(op), operands, outputs);
}
Operand GraphBuilder::op(Op op, const Operands& operands) {
  return ops(std::move(op), operands, 1).front();
}

}  // namespace quern
