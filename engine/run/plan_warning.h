// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <quern/executable.h>

namespace quern {

// A sentence where most of the work of these steps would take much less time with oneDNN, which is
// not open; empty: it is, or would gain little.
std::string plan_warning(std::span<const StepInfo> steps);

}  // namespace quern
