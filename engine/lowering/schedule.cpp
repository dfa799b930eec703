// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/schedule.h"

#include <algorithm>

namespace quern::lowering {
namespace {

bool is_planned(const Buffer& buffer, Space space) {
  return buffer.space() == space && (buffer.in_arena() || buffer.base == Buffer::Base::output);
}

// A device's kernels write whole vectors: the last vector may be partly padding.
std::uint64_t padded(std::uint64_t bytes, Space space, std::uint64_t alignment) {
  if (space == Space::host) return bytes;
  return (bytes + alignment - 1) / alignment * alignment;
}

Result<PlacedMemory> place_as_scheduled(const StepGraph& graph, const ScheduleOptions& options,
                                        const Strategy& strategy) {
  PlacedMemory p;
  p.answer = best_schedule(graph, options);
  p.memory = memory_of(graph, p.answer.schedule);
  QUERN_TRY(check(p.memory.problem));
  // The search is limited by steps rather than time, so that a model has the same plan everywhere.
  constexpr PlanLimits limits{.seconds = 0.5, .steps = 20000};
  p.plan = strategy.plan(p.memory.problem, limits).plan;
  QUERN_TRY(validate(p.memory.problem, p.plan));
  return p;
}

}  // namespace

StepGraph step_graph(const UnallocatedProgram& unallocated, Space space, std::uint64_t alignment) {
  StepGraph g;
  g.scratch_alignment = alignment;
  for (const Buffer& b : unallocated.buffers) {
    StepGraph::Buffer& buffer = g.buffers.emplace_back();
    if (!is_planned(b, space)) continue;
    buffer = {b.name, padded(b.bytes, space, alignment), alignment, b.base == Buffer::Base::output};
  }
  const auto planned = [&](BufferId b) { return is_planned(unallocated.buffers[b], space); };
  for (const UnallocatedStep& s : unallocated.steps) {
    StepGraph::Step& step = g.steps.emplace_back();
    step.name = s.step.node;
    if (scratch_space(s.step) == space)
      step.scratch = padded(s.step.scratch_bytes, space, alignment);
    for (const StepGraph::Share& share : s.shares)
      if (planned(share.operand) && planned(share.result)) step.shares.push_back(share);
    for (const Place& p : s.inputs)
      if (p.present() && planned(p.buffer)) step.reads.push_back(p.buffer);
    for (const Place& p : s.outputs)
      if (p.present() && planned(p.buffer)) step.writes.push_back(p.buffer);
    const auto operands = std::ranges::count_if(s.inputs, &Place::present);
    step.only_copies = s.only_copies && static_cast<std::size_t>(operands) == step.reads.size();
  }
  return g;
}

Result<PlacedMemory> place(const StepGraph& graph, const ScheduleOptions& options,
                           const Strategy& strategy) {
  QUERN_ASSIGN(PlacedMemory p, place_as_scheduled(graph, options, strategy));
  if (!options.alias || p.plan.size <= p.answer.bound) return p;
  // A schedule with a smaller bound may be harder to place.
  ScheduleOptions plain = options;
  plain.alias = false;
  QUERN_ASSIGN(PlacedMemory other, place_as_scheduled(graph, plain, strategy));
  return other.plan.size < p.plan.size ? std::move(other) : std::move(p);
}

}  // namespace quern::lowering
