// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/lowering/schedule.h"

namespace quern::lowering {

// Places by the options, or without aliases if the strategy then needs less memory. Null: the
// default strategy.
Result<PlacedMemory> place(const StepGraph& graph, const ScheduleOptions& options,
                           const Strategy* strategy);

}  // namespace quern::lowering
