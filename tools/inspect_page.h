// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quern/model.h>
#include <quern/status.h>

#include "tools/console.h"
#include "tools/opened.h"
#include "tools/options.h"

namespace quern::tools {

// Writes the page of `quern inspect --html`: the model's graph, and what the passes make of it for
// the inputs of `opened`, with the kernels of its plan and the times of --profile. A null `opened`
// is a model that cannot be planned here: then its shapes stay as they are. Errors:
// invalid_argument, a file that cannot be read or written.
Status write_graph_page(const InspectArgs& args, const Model& model, const Opened* opened,
                        const Console& console);

}  // namespace quern::tools
