// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <algorithm>

#include "engine/vocabulary/text_util.h"
#include "graph/text.h"

namespace quern {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& g)
      : g_(g), defined_(g.value_count(), false), handed_out_(g.value_count(), 0) {
    for (const ValueId v : g.outputs())
      if (index(v) < handed_out_.size()) ++handed_out_[index(v)];
  }

  Status run() {
    if (!g_.acyclic()) return fail("nodes depend on each other in a circle");
    for (ValueId v : g_.inputs()) QUERN_TRY(define(v));
    for (std::uint32_t i = 0; i < g_.value_count(); ++i) QUERN_TRY(check_value(ValueId{i}));
    for (NodeId id : g_.order()) QUERN_TRY(check_node(id));
    for (std::size_t i = 0; i < g_.outputs().size(); ++i)
      if (!readable(g_.outputs()[i]))
        return fail(cat("output '", printable(g_.output_names()[i]), "' is never computed"));
    return {};
  }

 private:
  Status fail(std::string_view what) const {
    return {Code::internal, cat("graph '", printable(g_.name), "': ", what)};
  }
  std::string describe(NodeId id) const {
    return cat("node '", printable(g_.node(id).name), "' (", g_.def(id).name, ")");
  }
  Status fail(NodeId id, std::string_view what) const {
    return fail(cat(describe(id), ": ", what));
  }
  bool readable(ValueId v) const {
    return index(v) < g_.value_count() && (defined_[index(v)] || g_.value(v).is_constant());
  }
  Status define(ValueId v) {
    if (index(v) >= g_.value_count() || defined_[index(v)]) return fail("a value is defined twice");
    defined_[index(v)] = true;
    return {};
  }

  Status check_value(ValueId id) const {
    const Value& v = g_.value(id);
    for (std::uint32_t i = 0; i < v.uses.size(); ++i) {
      const Use u = v.uses[i];
      const Node& n = g_.node(u.node);
      if (!n.alive || u.read >= n.read_count() || n.read(u.read) != id || n.use_slots[u.read] != i)
        return fail(cat("value ", index(id), " lists a use that is none"));
    }
    if (v.handed_out != handed_out_[index(id)])
      return fail(cat("value ", index(id), ": miscounted outputs"));
    return {};
  }

  Status check_node(NodeId id) {
    const Node& n = g_.node(id);
    for (ValueId v : n.reads())
      if (v != no_value && !readable(v)) return fail(id, "reads a value before it is computed");
    QUERN_TRY(check_post_ops(id));
    QUERN_TRY(check_bodies(id));
    QUERN_TRY(check_types(id));
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == no_value) continue;
      const Value& v = g_.value(n.outputs[i]);
      if (v.producer != id || v.producer_output != i) return fail(id, "does not own its output");
      QUERN_TRY(define(n.outputs[i]));
    }
    return {};
  }

  Status check_post_ops(NodeId id) const {
    const Node& n = g_.node(id);
    if (n.post_ops.empty())
      return n.operands.empty() ? Status() : fail(id, "has operands, but no post-op");
    if (!g_.def(id).is(OpTrait::post_ops)) return fail(id, "carries post-ops, but may not");
    for (const PostOp& p : n.post_ops)
      if (const auto* b = std::get_if<BinaryPostOp>(&p))
        if (b->operand >= n.operands.size() || n.operands[b->operand] == no_value)
          return fail(id, "has a post-op without operand");
    return {};
  }

  Status check_bodies(NodeId id) const {
    for (const Graph& body : g_.node(id).bodies)
      if (Status s = verify(body); !s.ok()) return std::move(s).in(describe(id));
    return {};
  }

  Status check_types(NodeId id) const {
    const Node& n = g_.node(id);
    if (!n.post_ops.empty() || !n.bodies.empty()) return {};
    auto types = g_.infer(n.op, n.inputs, n.outputs.size(), n.name);
    // A node that inference rejects because more has become known since is left for a run to
    // reject.
    if (!types) return n.stale_types || n.is_refused ? Status() : std::move(types).error();
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == no_value) continue;
      const ValueType& has = g_.type(n.outputs[i]);
      const ValueType& wants = (*types)[i];
      const bool dims_clash = has.dims && wants.dims && !meet(*has.dims, *wants.dims);
      if (has.dtype != wants.dtype || has.kind != wants.kind || dims_clash)
        return fail(id, cat("output ", i, " is ", type_text(has, &g_), ", inference says ",
                            type_text(wants, &g_)));
    }
    return {};
  }

  const Graph& g_;
  std::vector<bool> defined_;
  std::vector<std::uint32_t> handed_out_;  // how often each value is an output
};

}  // namespace

Status verify(const Graph& graph) {
  return Verifier(graph).run();
}

}  // namespace quern
