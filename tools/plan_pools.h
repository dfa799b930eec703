// SPDX-License-Identifier: Apache-2.0
// quern plan --pools: a trace played to every pool, beside a static plan for each run.
#pragma once

#include "tools/console.h"
#include "tools/options.h"

namespace quern::tools {

// True if `args` ask for pools: by option, or by a file that is a trace.
bool wants_pools(const PlanArgs& args);
// Decided by the name; otherwise the file is a model.
bool is_csv(std::string_view path);
// a / b; 1 if b is 0.
double ratio(std::uint64_t a, std::uint64_t b);
Result<ExitCode> plan_pools(const PlanArgs& args, const Console& console);

}  // namespace quern::tools
