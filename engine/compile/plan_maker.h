// SPDX-License-Identifier: Apache-2.0
// What makes plans that no artefact holds: specialising, rewriting, searching. engine/planning has
// the only one. The tree of plans is handed it from above and does without where there is none, so
// that a runner of artefacts needs no code of it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <quern/status.h>

#include "engine/compile/program.h"
#include "engine/compile/specialize.h"
#include "engine/compile/value.h"
#include "engine/lowering/schedule.h"

namespace quern {

class PlanTree;

// Immutable, and lives as long as the process. Any thread.
class PlanMaker {
 public:
  // See first_segment() and next_segment().
  virtual Result<Segment> first(const Graph& graph, std::span<const RuntimeValue> inputs,
                                std::span<const std::size_t> wanted, const Stop* stop) const = 0;
  virtual Result<Segment> next(const ResumePoint& rest, std::span<const RuntimeValue> resolved,
                               const Stop* stop) const = 0;
  // Rewrites the graph of the segment and lowers it within the limits of the tree.
  virtual Result<std::unique_ptr<Program>> lower(const PlanTree& tree, Segment& segment, Team team,
                                                 const Stop* stop) const = 0;
  // Of saved plans whose placement does not fit.
  virtual lowering::PlaceFn place() const = 0;
  virtual const Strategy& default_strategy() const = 0;

 protected:
  ~PlanMaker() = default;
};

// The error of everything that wants one where there is none: `what` cannot be done.
Status no_plan_maker(std::string_view what);

}  // namespace quern
