// SPDX-License-Identifier: Apache-2.0
// Plans from nothing: what Executable::compile() has, and load_artefact() for what a file lacks.
#pragma once

#include <quern/executable.h>
#include <quern/status.h>

#include "engine/compile/plan.h"

namespace quern {

const PlanMaker& plan_maker();

// plan_options(), with a maker and the strategy that the options name. Errors: not_found.
Result<PlanOptions> searching_plan_options(const CompileOptions& options, const DeviceInfo& device);

}  // namespace quern
