// SPDX-License-Identifier: Apache-2.0
// What the sessions of a RunGroup share.
#pragma once

#include <memory>
#include <utility>

#include "engine/compile/plan.h"
#include "engine/run/flight_gate.h"
#include "engine/run/flight_plan.h"
#include "engine/run/memory_block.h"

namespace quern {

struct SharedFlight {
  SharedFlight(std::shared_ptr<const PlanNode> n, PlanKey k, FlightPlan p)
      : node(std::move(n)), key(std::move(k)), plan(std::move(p)), gate(plan) {}

  std::shared_ptr<const PlanNode> node;
  PlanKey key;  // of the node
  FlightPlan plan;
  FlightGate gate;
  MemoryBlock arena;
};

}  // namespace quern
