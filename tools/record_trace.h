// SPDX-License-Identifier: Apache-2.0
// --record-trace: what a run allocates, appended to a file for `quern plan`.
#pragma once

#include <string>

#include <quern/session.h>

#include "tools/console.h"

namespace quern::tools {

// Nothing when `path` is empty. Otherwise runs once more, as the run after those in the file; the
// session's outputs are void afterwards.
Status record_trace(Session& session, const std::string& path, const Console& console);

}  // namespace quern::tools
