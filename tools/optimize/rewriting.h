// SPDX-License-Identifier: Apache-2.0
// The rewrites whose results standard ONNX can say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <quern/model.h>
#include <quern/status.h>

#include "graph/passes/pipeline.h"
#include "tools/optimize/fates.h"
#include "tools/quantize/edited_model.h"

namespace quern::tools {

// basic: what leaves every number as it is: constants folded, what moves or computes nothing and
// what is computed twice removed. all: besides, what rounds otherwise: norms and activations that
// are spelled out recognised, batch norms and scales folded into weights.
enum class RewriteLevel : std::uint8_t { basic, all };

struct RewriteOptions {
  RewriteLevel level = RewriteLevel::all;
  std::size_t most_constant_bytes = std::size_t{64} << 10;  // see GraphWriting::most_bytes
  bool is_specialised = false;                              // see GraphWriting
  std::vector<std::string> skipped = {};                    // passes of the level that do not run
  std::int64_t opset = 0;                                   // of ai.onnx; 0: the model's
};

struct Rewriting {
  std::vector<PassCount> passes;  // that fired
  NodeFates nodes;                // of the model before
};

// Passes of a level, by their names in pass_names().
std::vector<std::string_view> passes_of(RewriteLevel level);

// "basic" or "all".
RewriteLevel level_named(std::string_view name);

// Errors: those of the import; invalid_argument, a pass that the level has not or an opset that is
// not known; unsupported, a node that has no form in the opset; internal.
Result<Rewriting> rewrite_model(EditedModel& model, const RewriteOptions& options);
// The model that is read from what was rewritten and written.
Result<Model> rewritten_model(EditedModel model, RewriteLevel level);

}  // namespace quern::tools
