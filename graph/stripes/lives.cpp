// SPDX-License-Identifier: Apache-2.0
#include "graph/stripes/lives.h"

namespace quern::stripes {

std::vector<Life> lives_of(const RowGraph& rows) {
  const Graph& g = rows.graph();
  std::vector<std::int32_t> root(g.value_count(), -1);
  std::vector<Life> lives;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const Node& n = rows.node(at);
    for (ValueId v : n.reads())
      if (v != no_value && root[index(v)] >= 0)
        lives[static_cast<std::size_t>(root[index(v)])].last = at;
    const bool is_view = n.op.def().is(OpTrait::view) && n.inputs[0] != no_value;
    for (ValueId v : n.outputs) {
      if (v == no_value) continue;
      if (is_view && root[index(n.inputs[0])] >= 0) {
        root[index(v)] = root[index(n.inputs[0])];
        continue;
      }
      if (g.is_output(v) || is_view) continue;  // the caller's
      root[index(v)] = static_cast<std::int32_t>(lives.size());
      lives.push_back({at, at, TensorType{g.type(v).dtype, *g.type(v).shape()}.bytes()});
    }
  }
  return lives;
}

}  // namespace quern::stripes
