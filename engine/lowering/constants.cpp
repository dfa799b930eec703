// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/constants.h"

#include <cstring>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>

#include "engine/vocabulary/content_hash.h"
#include "engine/vocabulary/text_util.h"
#include "graph/evaluate.h"
#include "graph/file_pages.h"
#include "graph/text.h"

namespace quern::lowering {
namespace {

// Plans make small constants of their own, whose addresses may be reused: their keys are their
// bytes. Large constants belong to the model and live as long as it does: their keys are numbers
// that the store gives their addresses, the same in every process that reads one artefact.
constexpr std::size_t named_by_bytes = 64 << 10;
constexpr std::size_t longest_key = 256;

std::string content_key(std::span<const std::byte> bytes) {
  const ContentHash hash = content_hash(bytes);
  return cat("#", hash[0], ".", hash[1]);
}

std::string key_of(const Tensor& t, WeightStore* store) {
  const std::string type = t.type().text();
  if (t.bytes() <= named_by_bytes) return type + content_key({t.data(), t.bytes()});
  if (store) return cat(type, "@", store->number_of(t.data()));
  return cat(type, "@", reinterpret_cast<std::uintptr_t>(t.data()));
}

}  // namespace

// The results of constant expressions: the latest ones that are small or have several readers are
// kept, so that a chain of which each part is packed is computed once. A large one with one reader
// is packed as soon as it is computed.
class GraphConstants::Results {
 public:
  Results(std::size_t memory_limit, const Stop* stop) : memory_limit_(memory_limit), stop_(stop) {}

  // Computes what `wanted` needs, each value once and held until its last reader.
  Result<Tensor> of(const Source& wanted);

 private:
  static constexpr std::size_t most_kept = 32 << 20;  // bytes
  static constexpr std::size_t small = 64 << 10;

  std::vector<const Source*> missing_for(
      const Source& wanted, std::unordered_map<const Source*, std::size_t>& readers) const;
  Status make_room(const Source& next, std::size_t made);
  void forget_oldest();
  Result<Tensor> ready(const Source& s,
                       const std::unordered_map<const Source*, Tensor>& made) const;
  void keep(const Source& s, const Tensor& result);

  const std::size_t memory_limit_;
  const Stop* const stop_;
  std::unordered_map<const Source*, Tensor> kept_;
  std::deque<const Source*> order_;  // of `kept_`, the oldest first
  std::size_t bytes_ = 0;
};

class GraphConstants::Source final : public ConstantSource {
 public:
  Source(Tensor t, WeightStore* store)
      : type_(t.type()), key_(key_of(t, store)), tensor_(std::move(t)), store_(store) {}

  // Output `output` of a node that reads these constants.
  Source(const Graph& g, NodeId node, std::size_t output, std::vector<const Source*> reads,
         Results& results)
      : graph_(&g), node_(node), output_(output), reads_(std::move(reads)), results_(&results) {
    const Node& n = g.node(node);
    const ValueType& type = g.type(n.outputs[output]);
    type_ = {type.dtype, *type.shape()};
    has_several_readers_ = g.value(n.outputs[output]).uses.size() > 1;
    const auto operand = [](std::uint32_t i) { return cat("#", i); };
    key_ = cat(g.def(node).name, "{", attributes_text(n.op), post_ops_text(n.post_ops, operand),
               "}.", output, "(");
    for (const Source* s : reads_) key_ += s ? s->key() + "," : "_,";
    key_ += ")";
    // Keys hold the keys of what is read: in a chain that reads each result twice they would
    // double.
    if (key_.size() > longest_key) key_ = content_key(std::as_bytes(std::span(key_)));
  }

  const TensorType& type() const override { return type_; }
  const std::string& key() const override { return key_; }
  // The constant of the model; invalid if the value is computed.
  const Tensor& plain() const { return tensor_; }
  std::span<const Source* const> reads() const { return reads_; }  // null: a read that is absent
  bool has_several_readers() const { return has_several_readers_; }

  Result<Tensor> get() const override {
    if (tensor_.valid()) return read();
    return results_->of(*this);
  }

  // The elements of a constant of the model.
  Result<Tensor> read() const {
    if (store_) QUERN_TRY(store_->reading(tensor_.data()));
    return dropping_pages(tensor_);
  }

  // The result of the node, from those that it reads.
  Result<Tensor> from(std::span<const Tensor> reads, const Stop* stop) const {
    const Node& n = graph_->node(node_);
    std::vector<TensorType> types;
    for (ValueId v : n.outputs) {
      const std::size_t any = v == no_value ? output_ : types.size();
      const ValueType& type = graph_->type(n.outputs[any]);
      types.push_back({type.dtype, *type.shape()});
    }
    QUERN_ASSIGN(std::vector<Tensor> out,
                 evaluate(graph_->ops(), n.op, n.post_ops, reads.first(n.inputs.size()),
                          reads.subspan(n.inputs.size()), types, stop));
    return std::move(out[output_]);
  }

 private:
  TensorType type_;
  std::string key_;
  Tensor tensor_;
  WeightStore* store_ = nullptr;  // of a constant of the model
  bool has_several_readers_ = false;
  const Graph* graph_ = nullptr;
  NodeId node_ = no_node;
  std::size_t output_ = 0;
  std::vector<const Source*> reads_;
  Results* results_ = nullptr;
};

Result<Tensor> GraphConstants::Results::of(const Source& wanted) {
  std::unordered_map<const Source*, std::size_t> readers;  // to come, of what is computed now
  std::vector<const Source*> order = missing_for(wanted, readers);
  std::unordered_map<const Source*, Tensor> made;
  std::size_t made_bytes = 0;
  for (const Source* s : order) {
    QUERN_TRY(make_room(*s, made_bytes));
    std::vector<Tensor> reads;
    for (const Source* r : s->reads()) {
      reads.emplace_back();
      if (!r) continue;
      QUERN_ASSIGN(reads.back(), ready(*r, made));
    }
    QUERN_ASSIGN(Tensor result, s->from(reads, stop_));
    for (const Source* r : s->reads())
      if (const auto at = readers.find(r); at != readers.end() && --at->second == 0)
        if (made.erase(r) > 0) made_bytes -= r->type().bytes();
    keep(*s, result);
    made_bytes += result.bytes();
    made[s] = std::move(result);
  }
  return ready(wanted, made);
}

// The computed values that `wanted` needs and that are not kept, each after those that it reads.
// Without recursion: a chain may be long.
std::vector<const GraphConstants::Source*> GraphConstants::Results::missing_for(
    const Source& wanted, std::unordered_map<const Source*, std::size_t>& readers) const {
  std::vector<const Source*> order;
  std::vector<std::pair<const Source*, std::size_t>> path;  // and the read that comes next
  const auto visit = [&](const Source* s) {
    if (!s || s->plain().valid() || kept_.contains(s)) return;
    if (readers.emplace(s, 0).second) path.emplace_back(s, 0);
  };
  visit(&wanted);
  while (!path.empty()) {
    auto& [s, next] = path.back();
    if (next == s->reads().size()) {
      order.push_back(s);
      path.pop_back();
      continue;
    }
    visit(s->reads()[next++]);
  }
  for (const Source* s : order)
    for (const Source* r : s->reads())
      if (const auto at = readers.find(r); at != readers.end()) ++at->second;
  return order;
}

Result<Tensor> GraphConstants::Results::ready(
    const Source& s, const std::unordered_map<const Source*, Tensor>& made) const {
  if (s.plain().valid()) return s.read();
  if (const auto at = made.find(&s); at != made.end()) return Tensor(at->second);
  if (const auto at = kept_.find(&s); at != kept_.end()) return Tensor(at->second);
  return Status(Code::internal, "a constant expression was not computed");
}

// Drops cached results to make room for those needed now. (One that is both counts twice.)
Status GraphConstants::Results::make_room(const Source& next, std::size_t made) {
  const std::size_t wanted = next.type().bytes();
  while (!order_.empty() && wanted + made + bytes_ > memory_limit_) forget_oldest();
  if (wanted + made <= memory_limit_) return {};
  return {Code::out_of_memory,
          cat("a constant expression of ", next.type().text(), " wants ", wanted, " bytes beside ",
              made, " of its operands, the limit is ", memory_limit_)};
}

void GraphConstants::Results::forget_oldest() {
  const auto oldest = kept_.find(order_.front());
  bytes_ -= oldest->second.bytes();
  kept_.erase(oldest);
  order_.pop_front();
}

void GraphConstants::Results::keep(const Source& s, const Tensor& result) {
  if (result.bytes() > most_kept || (result.bytes() > small && !s.has_several_readers())) return;
  kept_.emplace(&s, result);
  bytes_ += result.bytes();
  order_.push_back(&s);
  while (bytes_ > most_kept) forget_oldest();
}

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

GraphConstants::GraphConstants(const Graph& g, std::size_t memory_limit, const Stop* stop,
                               WeightStore* store)
    : results_(std::make_unique<Results>(memory_limit, stop)), sources_(g.value_count()) {
  for (std::uint32_t i = 0; i < g.value_count(); ++i)
    if (const Value& v = g.value(ValueId{i}); v.is_constant() && (!v.uses.empty() || v.handed_out))
      sources_[i] = std::make_unique<Source>(v.constant, store);
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
      sources_[index(g.node(id).outputs[i])] = std::make_unique<Source>(g, id, i, reads, *results_);
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
    if (aligned || address == Address::any) {
      QUERN_TRY(weights.reading(t.data()));
      return Pinned{t.owner(), t.data()};
    }
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
