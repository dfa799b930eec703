// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/constants.h"

#include <bit>
#include <cstring>

#include "engine/vocabulary/text_util.h"
#include "graph/evaluate.h"
#include "graph/file_pages.h"
#include "graph/text.h"

namespace quern::lowering {
namespace {

// Plans make small constants of their own, whose addresses may be reused: their keys are their
// bytes. Large constants belong to the model and live as long as it does: their keys are their
// addresses.
constexpr std::size_t named_by_bytes = 64 << 10;

std::string content_key(const Tensor& t) {
  std::uint64_t a = 0xcbf29ce484222325;
  std::uint64_t b = 0x9e3779b97f4a7c15;
  const auto take = [&](std::uint64_t word) {
    a = (a ^ word ^ a >> 32) * 0x100000001b3;
    b = (std::rotl(b, 7) ^ word) * 0xff51afd7ed558ccd;
  };
  std::size_t i = 0;
  for (std::uint64_t word; i + sizeof word <= t.bytes(); i += sizeof word) {
    std::memcpy(&word, t.data() + i, sizeof word);
    take(word);
  }
  for (; i < t.bytes(); ++i) take(static_cast<std::uint64_t>(t.data()[i]));
  return cat("#", a, ".", b);
}

std::string key_of(const Tensor& t) {
  const std::string type = t.type().text();
  if (t.bytes() <= named_by_bytes) return type + content_key(t);
  return cat(type, "@", reinterpret_cast<std::uintptr_t>(t.data()));
}

}  // namespace

class GraphConstants::Source final : public ConstantSource {
 public:
  explicit Source(Tensor t) : type_(t.type()), key_(key_of(t)), tensor_(std::move(t)) {}

  // Output `output` of a node that reads these constants.
  Source(const Graph& g, NodeId node, std::size_t output, std::vector<const Source*> reads)
      : graph_(&g), node_(node), output_(output), reads_(std::move(reads)) {
    const Node& n = g.node(node);
    const ValueType& type = g.type(n.outputs[output]);
    type_ = {type.dtype, *type.shape()};
    const auto operand = [](std::uint32_t i) { return cat("#", i); };
    key_ = cat(g.def(node).name, "{", attributes_text(n.op), post_ops_text(n.post_ops, operand),
               "}.", output, "(");
    for (const Source* s : reads_) key_ += s ? s->key() + "," : "_,";
    key_ += ")";
  }

  const TensorType& type() const override { return type_; }
  const std::string& key() const override { return key_; }
  // The constant of the model; invalid if the value is computed.
  const Tensor& plain() const { return tensor_; }

  Result<Tensor> get() const override {
    if (tensor_.valid()) return dropping_pages(tensor_);
    const Node& n = graph_->node(node_);
    std::vector<Tensor> reads;
    for (const Source* s : reads_) {
      reads.emplace_back();
      if (!s) continue;
      QUERN_ASSIGN(reads.back(), s->get());
    }
    std::vector<TensorType> types;
    for (ValueId v : n.outputs) {
      const std::size_t any = v == no_value ? output_ : types.size();
      const ValueType& type = graph_->type(n.outputs[any]);
      types.push_back({type.dtype, *type.shape()});
    }
    const std::span all(reads);
    QUERN_ASSIGN(std::vector<Tensor> out,
                 evaluate(graph_->ops(), n.op, n.post_ops, all.first(n.inputs.size()),
                          all.subspan(n.inputs.size()), types));
    return std::move(out[output_]);
  }

 private:
  TensorType type_;
  std::string key_;
  Tensor tensor_;
  const Graph* graph_ = nullptr;
  NodeId node_ = no_node;
  std::size_t output_ = 0;
  std::vector<const Source*> reads_;
};

namespace {

bool can_be_constant(const Graph& g, NodeId id) {
  const Node& n = g.node(id);
  if (!can_evaluate(g.def(id)) || n.inputs.empty()) return false;
  const auto types_of = [&](std::span<const ValueId> values) {
    std::optional<std::vector<TensorType>> types(std::in_place);
    for (ValueId v : values) {
      if (v != no_value && !g.type(v).fully_known())
        return std::optional<std::vector<TensorType>>();
      if (v != no_value) types->push_back({g.type(v).dtype, *g.type(v).shape()});
    }
    return types;
  };
  const auto in = types_of(n.inputs);
  const auto out = types_of(n.outputs);
  return in && types_of(n.operands) && out && out->size() == n.outputs.size() &&
         evaluation_work(n.op, g.def(id), *in, *out) <= quick_work;
}

}  // namespace

GraphConstants::GraphConstants(const Graph& g) : sources_(g.value_count()) {
  for (std::uint32_t i = 0; i < g.value_count(); ++i)
    if (const Value& v = g.value(ValueId{i}); v.is_constant() && (!v.uses.empty() || v.handed_out))
      sources_[i] = std::make_unique<Source>(v.constant);
  for (NodeId id : g.order()) {
    if (!can_be_constant(g, id)) continue;
    std::vector<const Source*> reads;
    bool constant = true;
    for (ValueId v : g.node(id).reads()) {
      reads.push_back(v == no_value ? nullptr : sources_[index(v)].get());
      constant = constant && (v == no_value || reads.back());
    }
    if (!constant) continue;
    for (std::size_t i = 0; i < g.node(id).outputs.size(); ++i)
      sources_[index(g.node(id).outputs[i])] = std::make_unique<Source>(g, id, i, reads);
  }
}

GraphConstants::~GraphConstants() = default;

const ConstantSource* GraphConstants::find(ValueId v) const {
  return sources_[index(v)].get();
}

Result<GraphConstants::Pinned> GraphConstants::pin(ValueId v, WeightStore& weights,
                                                   Address address) const {
  const Source& s = *sources_[index(v)];
  if (const Tensor& t = s.plain(); t.valid()) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(t.data()) % size_of(t.dtype()) == 0;
    if (aligned || address == Address::any) return Pinned{t.owner(), t.data()};
  }
  QUERN_ASSIGN(auto packed, weights.find_or_make("plain|" + s.key(), s.type().bytes(),
                                                 [&](std::byte* to) -> Status {
                                                   QUERN_ASSIGN(const Tensor t, s.get());
                                                   std::memcpy(to, t.data(), t.bytes());
                                                   return {};
                                                 }));
  const std::byte* data = packed.get();
  return Pinned{std::move(packed), data};
}

}  // namespace quern::lowering
