// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/schedule.h"

#include <algorithm>
#include <optional>

namespace quern::lowering {
namespace {

bool is_planned(const Buffer& buffer, Space space) {
  return buffer.space() == space && (buffer.in_arena() || buffer.base == Buffer::Base::output);
}

std::uint64_t padded(std::uint64_t bytes, Space space, std::uint64_t alignment) {
  if (space == Space::host) return bytes;
  return (bytes + alignment - 1) / alignment * alignment;
}

// Adds the dependences between steps by the buffers that are planned in another memory.
class OtherMemory {
 public:
  OtherMemory(const UnallocatedProgram& unallocated, Space space)
      : unallocated_(unallocated), space_(space), users_(unallocated.buffers.size()) {}

  // Steps are added in order.
  void add(const UnallocatedStep& step, std::uint32_t number, std::vector<std::uint32_t>& after) {
    for (const Place& p : step.inputs) {
      if (!is_elsewhere(p)) continue;
      Users& users = users_[p.buffer];
      if (users.writer) after.push_back(*users.writer);
      users.readers.push_back(number);
    }
    for (const Place& p : step.outputs) {
      if (!is_elsewhere(p)) continue;
      Users& users = users_[p.buffer];
      if (users.writer) after.push_back(*users.writer);
      after.insert(after.end(), users.readers.begin(), users.readers.end());
      users = {.writer = number, .readers = {}};
    }
    std::erase(after, number);
  }

 private:
  struct Users {
    std::optional<std::uint32_t> writer;
    std::vector<std::uint32_t> readers;  // since the last write
  };

  bool is_elsewhere(const Place& p) const {
    if (!p.present()) return false;
    const Buffer& b = unallocated_.buffer(p);
    return b.space() != space_ && is_planned(b, b.space());
  }

  const UnallocatedProgram& unallocated_;
  Space space_;
  std::vector<Users> users_;
};

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
  if (space == Space::device) g.write_unit = shader_vector_bytes;
  for (const Buffer& b : unallocated.buffers) {
    StepGraph::Buffer& buffer = g.buffers.emplace_back();
    if (!is_planned(b, space)) continue;
    buffer = {b.name, b.bytes, alignment, b.base == Buffer::Base::output};
  }
  const auto planned = [&](BufferId b) { return is_planned(unallocated.buffers[b], space); };
  OtherMemory other(unallocated, space);
  for (const UnallocatedStep& s : unallocated.steps) {
    const auto number = static_cast<std::uint32_t>(g.steps.size());
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
    other.add(s, number, step.after);
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
