// SPDX-License-Identifier: Apache-2.0
// A rewritten graph as the ONNX message that it came from, changed where the graph is.
//
// Every value keeps its meaning in all rewrites, so that each may be computed as the graph now says
// or as the message said: a node with no form in ONNX, or one that stands for several of the
// message (Gemm), stays what it was in the file. What no output needs is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <quern/status.h>

#include "graph/graph.h"
#include "tools/optimize/fates.h"
#include "tools/quantize/edited_model.h"

namespace quern::tools {

using ValueNames = std::map<std::string, ValueId, std::less<>>;

struct RewrittenGraph {
  const Graph& before;  // as imported
  const Graph& after;   // a rewritten clone of it
  const ValueNames& values;
};

// The model in another opset of ai.onnx.
struct OpsetChange {
  std::int64_t opset = 0;
  // By node of the message: why it cannot stay as it is there; "": it can.
  std::vector<std::string> reasons;
};

struct GraphWriting {
  // A constant that a rewrite made is written if it has at most so many bytes, or no more than the
  // constants that it was made of; else its nodes stay.
  std::size_t most_bytes = std::size_t{64} << 10;
  bool is_specialised = false;                // declared shapes become those of the graph
  const OpsetChange* opset_change = nullptr;  // null: the opset stays
};

// Changes the message of the model that `before` was imported from, and says what became of its
// nodes. Errors: internal; unsupported, where a node has no form in the opset that is wanted.
Result<NodeFates> write_graph(EditedModel& model, const RewrittenGraph& graph,
                              const GraphWriting& options);

}  // namespace quern::tools
