// SPDX-License-Identifier: Apache-2.0
// Plans as pictures: address over time.
#pragma once

#include <string>
#include <vector>

#include "graph/memory/plan.h"

namespace quern::tools {

struct PlanPicture {
  std::string title;
  const MemoryProblem* problem = nullptr;
  const MemoryPlan* plan = nullptr;
};

// A whole file; names show when the pointer rests on a buffer.
std::string plan_svg(const PlanPicture& picture);

// The pictures on one page, one at a time, with all that is known of the buffer under the pointer.
std::string plan_page(const std::string& title, const std::vector<PlanPicture>& pictures);

}  // namespace quern::tools
