// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/arenas.h"

#include <span>
#include <utility>

#include "engine/lowering/schedule.h"

namespace quern::lowering {
namespace {

constexpr std::uint64_t host_alignment = 64;

// Makes operands of the places of a draft whose memories are planned.
class Operands {
 public:
  // Without a device its memory is that of the host.
  Operands(std::span<const Buffer> buffers, const PlacedMemory& host, const PlacedMemory& device,
           std::uint64_t device_alignment)
      : buffers_(buffers), host_(host), device_(device), device_alignment_(device_alignment) {}

  // Of the step, which is the draft's `number`th.
  void resolve(DraftStep& draft, std::size_t number) const {
    Step& s = draft.step;
    const bool on_host = s.kind == Step::Kind::host;
    for (const Place& p : draft.inputs) {
      s.inputs.push_back(operand(p));
      if (!on_host) s.input_bytes.push_back(bytes(p));
      if (s.kind == Step::Kind::device) align_down(s.inputs.back(), s.input_bytes.back());
    }
    for (const Place& p : draft.outputs) {
      s.outputs.push_back(operand(p));
      if (!on_host) s.output_bytes.push_back(bytes(p));
    }
    if (s.scratch_bytes) s.scratch_offset = memory(scratch_space(s)).offset_of_scratch(number);
  }

 private:
  const PlacedMemory& memory(Space space) const { return space == Space::host ? host_ : device_; }

  Step::Operand operand(const Place& p) const {
    if (!p.present()) return {};
    const PlacedMemory& in = memory(buffers_[p.buffer].space());
    const Schedule::Lie lie = in.answer.schedule.lies[p.buffer];
    const Buffer& b = buffers_[lie.root];
    Step::Operand o{b.base, b.index, p.offset + lie.offset, nullptr};
    if (b.in_arena()) o.offset += in.offset_of_root(lie.root);
    if (b.base == Buffer::Base::constant) o.constant = b.constant + p.offset;
    return o;
  }

  static std::uint64_t bytes(const Place& p) { return p.present() ? p.desc.bytes() : 0; }

  // To where a binding may begin.
  void align_down(Step::Operand& o, std::uint64_t& bytes) const {
    const std::uint64_t skipped = o.offset % device_alignment_;
    o.offset -= skipped;
    bytes += skipped;
  }

  std::span<const Buffer> buffers_;
  const PlacedMemory& host_;
  const PlacedMemory& device_;
  std::uint64_t device_alignment_;
};

void keep_plan(const PlacedMemory& host, Program& program) {
  program.memory_problem = host.memory.problem;
  program.memory_plan = host.plan;
  program.arena_bytes = host.plan.size;
  program.plain_bound = host.answer.plain_bound;
  program.order_is_optimal = host.answer.order_is_optimal;
}

void keep_output_offsets(std::span<const Buffer> buffers, const PlacedMemory& host,
                         Program& program) {
  program.output_offsets.resize(program.outputs.size());
  for (BufferId b = 0; b < buffers.size(); ++b)
    if (buffers[b].base == Buffer::Base::output)
      program.output_offsets[buffers[b].index] = host.offset_of_root(b);
}

StepMeaning meaning_of(DraftStep& step) {
  StepMeaning meaning = std::move(step.meaning);
  for (const Place& p : step.inputs) meaning.inputs.push_back(p.desc);
  for (const Place& p : step.outputs) meaning.outputs.push_back(p.desc);
  return meaning;
}

// In this order; those that are not in it have nothing to do.
std::vector<StepMeaning> keep_steps(std::span<DraftStep> steps,
                                    std::span<const std::uint32_t> order, const Operands& operands,
                                    Program& program) {
  std::vector<StepMeaning> meanings;
  for (std::uint32_t i : order) {
    operands.resolve(steps[i], i);
    program.steps.push_back(std::move(steps[i].step));
    meanings.push_back(meaning_of(steps[i]));
  }
  return meanings;
}

Result<std::vector<StepMeaning>> place_on_host(Draft& draft, const ArenaOptions& options,
                                               const Strategy& strategy, Program& program) {
  const StepGraph graph = step_graph(draft, Space::host, host_alignment);
  QUERN_ASSIGN(const PlacedMemory host,
               place(graph, {.order = options.order, .alias = options.alias}, strategy));
  auto meanings =
      keep_steps(draft.steps, host.memory.steps, {draft.buffers, host, host, 0}, program);
  keep_output_offsets(draft.buffers, host, program);
  keep_plan(host, program);
  return meanings;
}

// Both memories see the steps in one order, that of the graph, and all of them: results in place,
// no copies spared.
Result<std::vector<StepMeaning>> place_in_both(Draft& draft, const ArenaOptions& options,
                                               const Strategy& strategy, Program& program) {
  constexpr ScheduleOptions in_order{.order = false, .alias = false};
  const std::uint64_t alignment = options.device_alignment;
  QUERN_ASSIGN(const PlacedMemory host,
               place(step_graph(draft, Space::host, host_alignment), in_order, strategy));
  QUERN_ASSIGN(const PlacedMemory device,
               place(step_graph(draft, Space::device, alignment), in_order, strategy));
  auto meanings = keep_steps(draft.steps, host.answer.schedule.order,
                             {draft.buffers, host, device, alignment}, program);
  keep_output_offsets(draft.buffers, host, program);
  keep_plan(host, program);
  program.plain_bound = device.answer.plain_bound;
  program.order_is_optimal = device.answer.order_is_optimal;
  program.device_problem = device.memory.problem;
  program.device_plan = device.plan;
  return meanings;
}

}  // namespace

Result<std::vector<StepMeaning>> place_in_arenas(Draft draft, const ArenaOptions& options,
                                                 Program& program) {
  const Strategy& strategy = options.strategy ? *options.strategy : default_strategy();
  return options.device_alignment ? place_in_both(draft, options, strategy, program)
                                  : place_on_host(draft, options, strategy, program);
}

}  // namespace quern::lowering
