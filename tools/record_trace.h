// SPDX-License-Identifier: Apache-2.0
// --record-trace: what a run allocates, appended to a file for `quern plan`.
#pragma once

#include <string>

#include <quern/session.h>

#include "graph/memory/problem/trace.h"
#include "tools/console.h"

namespace quern::tools {

// The allocations of a run of the session, whose outputs are invalid afterwards.
Result<MemoryTrace> traced_run(Session& session);

// Appends a traced run to the file; does nothing if `path` is empty.
Status record_trace(Session& session, const std::string& path, const Console& console);

}  // namespace quern::tools
