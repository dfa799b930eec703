// SPDX-License-Identifier: Apache-2.0
// Nodes that compute the same, and small constants that are the same, become one.
#include <bit>
#include <cstring>
#include <functional>
#include <unordered_map>

#include "graph/op_fields.h"
#include "graph/ops/unary.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

// Larger ones are compared by their address alone.
constexpr std::size_t compared_by_bytes = 1 << 10;

// ---- hashing -----------------------------------------------------------------------------------

class Hash {
 public:
  std::uint64_t value() const { return h_; }

  void add(std::uint64_t v) {
    h_ = (h_ ^ v) * 0x9e3779b97f4a7c15;
    h_ ^= h_ >> 29;
  }
  void add(std::string_view s) { add(std::hash<std::string_view>()(s)); }
  void add(float v) { add(std::uint64_t{std::bit_cast<std::uint32_t>(v)}); }
  void add(double v) { add(std::bit_cast<std::uint64_t>(v)); }
  template <class T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  void add(T v) { add(static_cast<std::uint64_t>(v)); }
  void add(const EnumField& e) { add(*e.value); }
  void add(const Op& op) {
    add(op.def().name);
    for_each_field(op, [&](std::string_view, const auto& field) { add(field); });
  }
  void add(const BinaryPostOp& b) {
    add(b.kind);
    add(b.operand);
    add(b.swapped);
  }
  template <class T>
  void add(const std::optional<T>& v) {
    add(v.has_value());
    if (v) add(*v);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.size());
    for (const T& v : list) add(v);
  }

 private:
  std::uint64_t h_ = 0x243f6a8885a308d3;
};

std::uint64_t hash_of(const Node& n) {
  Hash h;
  h.add(n.op);
  for (ValueId v : n.reads()) h.add(v);
  for (const PostOp& p : n.post_ops) std::visit([&](const auto& step) { h.add(step); }, p);
  h.add(n.outputs.size());
  return h.value();
}

std::uint64_t hash_of(const Tensor& t) {
  Hash h;
  h.add(t.dtype());
  for (std::int64_t d : t.shape()) h.add(d);
  if (t.bytes() <= compared_by_bytes) {
    h.add(std::string_view(reinterpret_cast<const char*>(t.data()), t.bytes()));
  } else {
    h.add(reinterpret_cast<std::uintptr_t>(t.data()));
  }
  return h.value();
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  if (a.data() == b.data()) return true;
  return a.bytes() <= compared_by_bytes && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool same(const Node& a, const Node& b) {
  return a.op == b.op && a.inputs == b.inputs && a.operands == b.operands &&
         a.post_ops == b.post_ops && a.outputs.size() == b.outputs.size();
}

// ---- merging -----------------------------------------------------------------------------------

// Values seen so far, by hash; chains are short.
using Seen = std::unordered_multimap<std::uint64_t, std::uint32_t>;

template <class Same>
std::optional<std::uint32_t> find_or_add(Seen& seen, std::uint64_t hash, std::uint32_t id,
                                         Same&& is_same) {
  const auto [begin, end] = seen.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (is_same(it->second)) return it->second;
  seen.emplace(hash, id);
  return std::nullopt;
}

bool merge_constants(Graph& g) {
  Seen seen;
  bool changed = false;
  for (std::uint32_t i = 0; i < g.value_count(); ++i) {
    const Value& v = g.value(ValueId{i});
    if (!v.is_constant() || v.uses.empty()) continue;
    const auto twin = find_or_add(seen, hash_of(v.constant), i, [&](std::uint32_t other) {
      return same(g.value(ValueId{other}).constant, v.constant);
    });
    if (!twin) continue;
    g.replace_uses(ValueId{i}, ValueId{*twin});
    changed = true;
  }
  return changed;
}

bool may_merge(const Graph& g, NodeId id) {
  const OpDef& def = g.def(id);
  return !def.is(OpTrait::random) && !def.is(OpTrait::structural) && g.node(id).bodies.empty();
}

// An output that only the first of two twins has, or both.
bool has_all_outputs(const Node& first, const Node& second) {
  for (std::size_t i = 0; i < second.outputs.size(); ++i)
    if (second.outputs[i] != no_value && first.outputs[i] == no_value) return false;
  return true;
}

bool merge_nodes(Graph& g) {
  Seen seen;
  bool changed = false;
  const std::vector<NodeId> order(g.order().begin(), g.order().end());
  for (NodeId id : order) {
    if (!may_merge(g, id)) continue;
    const auto twin = find_or_add(seen, hash_of(g.node(id)), index(id), [&](std::uint32_t other) {
      return same(g.node(NodeId{other}), g.node(id)) &&
             has_all_outputs(g.node(NodeId{other}), g.node(id));
    });
    if (!twin) continue;
    const std::vector<ValueId> outputs = g.node(id).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != no_value) g.replace_uses(outputs[i], g.node(NodeId{*twin}).outputs[i]);
    g.erase(id);
    changed = true;
  }
  return changed;
}

}  // namespace

// y = f(x), z = f(x)  =>  y = f(x), z = y
Result<bool> merge_common(Graph& g) {
  const bool constants = merge_constants(g);
  const bool nodes = merge_nodes(g);
  return constants || nodes;
}

}  // namespace quern::passes
