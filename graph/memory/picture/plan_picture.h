// SPDX-License-Identifier: Apache-2.0
// Plans as pictures: address over time.
#pragma once

#include <string>
#include <vector>

#include "graph/memory/problem/plan.h"

namespace quern {

struct PlanPicture {
  std::string title;
  const MemoryProblem* problem = nullptr;
  const MemoryPlan* plan = nullptr;
};

// A whole file; names show when the pointer rests on a buffer.
std::string plan_svg(const PlanPicture& picture);

// Plans of one problem on a page: one, or two above each other with what lies elsewhere in the
// other made to stand out; all that is known of the buffer under the pointer; and what begins, ends
// and lives in every step. `steps` names them, as far as it goes.
std::string plan_page(const std::string& title, const std::vector<PlanPicture>& pictures,
                      const std::vector<std::string>& steps);

}  // namespace quern
