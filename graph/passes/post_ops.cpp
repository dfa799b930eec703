// SPDX-License-Identifier: Apache-2.0
// Elementwise nodes become post-ops of the node that makes what they work on: one pass over memory
// instead of two.
//
// The fused node takes the place of the elementwise one in the order. Since nobody else reads what
// it made, nothing that the other operand needs can depend on it: no circle can arise.
#include <algorithm>

#include "graph/ops/binary.h"
#include "graph/ops/unary.h"
#include "graph/passes/match.h"
#include "graph/passes/rules.h"

namespace quern::passes {
namespace {

// Limits of the kernels.
constexpr std::size_t max_post_ops = 12;
constexpr std::size_t most_post_op_operands = 8;

bool is_fusable(BinaryKind k) {
  return k == BinaryKind::add || k == BinaryKind::sub || k == BinaryKind::mul ||
         k == BinaryKind::div || k == BinaryKind::min || k == BinaryKind::max ||
         k == BinaryKind::prelu;
}

bool commutes(BinaryKind k) {
  return k == BinaryKind::add || k == BinaryKind::mul || k == BinaryKind::min ||
         k == BinaryKind::max;
}

bool is_elementwise(const Node& n) {
  return n.as<Unary>() || n.as<Binary>();
}

// The node that makes `v` when what `reader` does to it can become its post-ops.
const Node* host_of(const Graph& g, const Node& reader, ValueId v) {
  const Node* p = producer(g, v);
  if (!p || !p->op.def().is(OpTrait::post_ops) || !g.used_once(v)) return nullptr;
  if (p->outputs[0] != v || has_other_readers(g, *p)) return nullptr;
  if (!is_number_float(g, v) || !known_same(g, v, reader.outputs[0])) return nullptr;
  // An expression over constants is worth more on its own: it is computed once.
  if (is_constant_expression(g, v)) return nullptr;
  const bool has_room = p->post_ops.size() + 1 + reader.post_ops.size() <= max_post_ops &&
                        p->operands.size() + reader.read_count() <= most_post_op_operands;
  return has_room ? p : nullptr;
}

// `host` followed by `step` and by the post-ops of `reader`.
Result<bool> fuse(Graph& g, const Node& host, NodeId reader, PostOp step, ValueId operand) {
  const Node& r = g.node(reader);
  PostOps post_ops = host.post_ops;
  std::vector<ValueId> operands = host.operands;
  const auto append = [&](PostOp p, ValueId read) {
    if (auto* b = std::get_if<BinaryPostOp>(&p)) {
      b->operand = static_cast<std::uint32_t>(operands.size());
      operands.push_back(read);
    }
    post_ops.push_back(std::move(p));
  };
  append(std::move(step), operand);
  for (const PostOp& p : r.post_ops) {
    const auto* b = std::get_if<BinaryPostOp>(&p);
    append(p, b ? r.operands[b->operand] : no_value);
  }
  const std::string name = host.name;
  std::vector<ValueId> inputs = host.inputs;
  const Op op = host.op;
  if (!g.replace(reader, op, std::move(inputs), std::move(post_ops), std::move(operands)).ok())
    return false;
  g.set_node_name(reader, name);
  return true;
}

}  // namespace

// f(conv(x))  =>  conv(x) | f
Result<bool> fuse_unary(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Node* host = host_of(g, n, n.inputs[0]);
  return host ? fuse(g, *host, id, n.op, no_value) : Result<bool>(false);
}

// conv(x) + y  =>  conv(x) | + y, y of the result's shape or broadcast to it. Of two that could
// take the other a real operator goes before an elementwise one, then the one that runs later.
Result<bool> fuse_binary(Graph& g, NodeId id) {
  const Node& n = g.node(id);
  const Binary op = *n.as<Binary>();
  if (!is_fusable(op.kind) || n.inputs[0] == n.inputs[1]) return false;
  std::array<const Node*, 2> hosts{};
  for (std::size_t i : {0, 1}) {
    const bool same_type = g.type(n.inputs[0]).dtype == g.type(n.inputs[1]).dtype;
    const bool is_left_only = op.kind == BinaryKind::prelu && i == 1;
    if (!same_type || is_left_only || !keeps_shape(g, n.inputs[i], n.inputs[1 - i])) continue;
    hosts[i] = host_of(g, n, n.inputs[i]);
  }
  if (!hosts[0] && !hosts[1]) return false;
  std::size_t chosen = hosts[0] ? 0 : 1;
  if (hosts[0] && hosts[1]) {
    const bool first_is_plain = is_elementwise(*hosts[0]);
    const bool second_is_plain = is_elementwise(*hosts[1]);
    const auto position = [&](std::size_t i) { return g.position(g.value(n.inputs[i]).producer); };
    chosen = first_is_plain != second_is_plain ? (first_is_plain ? 1 : 0)
                                               : (position(1) > position(0) ? 1 : 0);
  }
  const bool swapped = chosen == 1 && !commutes(op.kind);
  return fuse(g, *hosts[chosen], id, BinaryPostOp{op.kind, 0, swapped}, n.inputs[1 - chosen]);
}

}  // namespace quern::passes
