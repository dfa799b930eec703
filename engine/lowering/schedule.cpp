// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/schedule.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "engine/vocabulary/multiples.h"
#include "graph/memory/strategies.h"

namespace quern::lowering {
namespace {

bool is_planned(const Buffer& buffer, Space space) {
  return buffer.space() == space && (buffer.in_arena() || buffer.base == Buffer::Base::output);
}

std::uint64_t padded(std::uint64_t bytes, Space space, std::uint64_t alignment) {
  return space == Space::host ? bytes : round_up(bytes, alignment);
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

MemoryChoice choice_of(const PlacedMemory& placed) {
  return {.schedule = placed.answer.schedule,
          .offsets = placed.plan.offsets,
          .size = placed.plan.size,
          .plain_bound = placed.answer.plain_bound,
          .bound = placed.answer.bound,
          .order_is_optimal = placed.answer.order_is_optimal,
          .is_searched = placed.is_searched};
}

namespace {

// What no sensible plan passes: every interval in bytes of its own.
std::uint64_t stacked_bytes(const MemoryProblem& problem) {
  constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes = 0;
  for (const Interval& i : problem.intervals) {
    const std::uint64_t more = i.size < any / 2 ? round_up(i.size, i.alignment) : any / 2;
    bytes = more < any - bytes ? bytes + more : any;
  }
  return bytes;
}

}  // namespace

std::optional<PlacedMemory> place_as_chosen(const StepGraph& graph, const MemoryChoice& choice,
                                            const Stop* stop) {
  // The search looked at less at a time, and may so have come further with the same work.
  Work work(4 * usual_work(graph), stop);
  if (!fits(graph, choice.schedule, work)) return std::nullopt;
  PlacedMemory p;
  p.answer = {.schedule = choice.schedule,
              .plain_bound = choice.plain_bound,
              .bound = choice.bound,
              .order_is_optimal = choice.order_is_optimal};
  p.memory = memory_of(graph, choice.schedule);
  p.plan = {.offsets = choice.offsets, .size = choice.size};
  p.is_searched = choice.is_searched;
  if (!check(p.memory.problem).ok() || choice.size > stacked_bytes(p.memory.problem) ||
      !validate(p.memory.problem, p.plan).ok())
    return std::nullopt;
  return p;
}

Result<PlacedMemory> place_plainly(const StepGraph& graph, const ScheduleOptions& options,
                                   const Strategy*) {
  PlacedMemory p;
  p.answer.schedule = plain_schedule(graph);
  if (!options.first_order.empty()) p.answer.schedule.order = options.first_order;
  p.memory = memory_of(graph, p.answer.schedule);
  QUERN_TRY(check(p.memory.problem));
  PlanAnswer answer = plan_greedy_by_size(p.memory.problem, {.stop = options.stop});
  QUERN_TRY(validate(p.memory.problem, answer.plan));
  p.answer.plain_bound = p.answer.bound = answer.bound;
  p.answer.is_complete = p.is_searched = false;
  p.plan = std::move(answer.plan);
  return p;
}

}  // namespace quern::lowering
