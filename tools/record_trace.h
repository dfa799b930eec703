// SPDX-License-Identifier: Apache-2.0
// --record-trace: what a run allocates, appended to a file for `quern plan`.
#pragma once

#include <string>

#include <quern/session.h>

#include "graph/memory/problem/trace.h"
#include "tools/console.h"

namespace quern::tools {

// What a run of the session allocates; its outputs are void afterwards.
Result<MemoryTrace> traced_run(Session& session);

// Nothing when `path` is empty. Otherwise a traced run, appended to those in the file.
Status record_trace(Session& session, const std::string& path, const Console& console);

}  // namespace quern::tools
