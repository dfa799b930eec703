// SPDX-License-Identifier: Apache-2.0
// quern plan --frontier: the time of a run over the bytes of its arena.
#pragma once

#include "tools/verbs.h"

namespace quern::tools {

Result<ExitCode> plan_frontier(const PlanArgs& args, const Console& console);

}  // namespace quern::tools
