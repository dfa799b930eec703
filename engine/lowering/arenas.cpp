// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/arenas.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "engine/lowering/schedule.h"

namespace quern::lowering {
namespace {

constexpr std::uint64_t host_alignment = 64;

// Converts places of an unallocated program to operands, after its memories are planned.
class Operands {
 public:
  // Without a device, `device` is the same as `host`.
  // `updates`: Step::Operand::update by buffer; empty: 0.
  Operands(std::span<const Buffer> buffers, const PlacedMemory& host, const PlacedMemory& device,
           std::uint64_t device_alignment, std::span<const std::uint32_t> updates = {})
      : buffers_(buffers),
        host_(host),
        device_(device),
        device_alignment_(device_alignment),
        updates_(updates) {}

  // Sets the addresses of the operands and the scratch of step `number` of the unallocated program.
  void resolve(UnallocatedStep& unallocated, std::size_t number) const {
    Step& s = unallocated.step;
    const bool on_host = s.kind == Step::Kind::host;
    for (const Place& p : unallocated.inputs) {
      s.inputs.push_back(operand(p));
      if (!on_host) s.input_bytes.push_back(bytes(p));
      if (s.kind == Step::Kind::device) align_down(s.inputs.back(), s.input_bytes.back());
    }
    for (const Place& p : unallocated.outputs) {
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
    const Schedule::Alias alias = in.answer.schedule.aliases[p.buffer];
    const Buffer& b = buffers_[alias.root];
    Step::Operand o{b.base, b.index, p.offset + alias.offset, nullptr};
    if (b.in_arena()) o.offset += in.offset_of_root(alias.root);
    if (b.base == Buffer::Base::constant) o.constant = b.constant + p.offset;
    if (!updates_.empty()) o.update = updates_[alias.root];
    return o;
  }

  static std::uint64_t bytes(const Place& p) { return p.present() ? p.desc.bytes() : 0; }

  // Aligns the operand down to a valid binding offset.
  void align_down(Step::Operand& o, std::uint64_t& bytes) const {
    const std::uint64_t skipped = o.offset % device_alignment_;
    o.offset -= skipped;
    bytes += skipped;
  }

  std::span<const Buffer> buffers_;
  const PlacedMemory& host_;
  const PlacedMemory& device_;
  std::uint64_t device_alignment_;
  std::span<const std::uint32_t> updates_;
};

void keep_plan(const PlacedMemory& host, Program& program) {
  program.memory_problem = host.memory.problem;
  program.memory_plan = host.plan;
  program.arena_bytes = host.plan.size;
  program.plain_bound = host.answer.plain_bound;
  program.order_is_optimal = host.answer.order_is_optimal;
  program.is_searched = host.is_searched;
}

void keep_output_offsets(std::span<const Buffer> buffers, const PlacedMemory& host,
                         Program& program) {
  program.output_offsets.resize(program.outputs.size());
  for (BufferId b = 0; b < buffers.size(); ++b)
    if (buffers[b].base == Buffer::Base::output)
      program.output_offsets[buffers[b].index] = host.offset_of_root(b);
}

// The outputs that one step makes of an input that no other reads.
void keep_updates(Program& program) {
  using Base = Step::Operand::Base;
  const auto has_none = [](const Step& s) { return s.updates.empty(); };
  if (std::ranges::all_of(program.steps, has_none)) return;
  std::vector<int> reads(program.inputs.size()), writes(program.outputs.size());
  for (const Step& s : program.steps) {
    for (const Step::Operand& o : s.inputs)
      if (o.base == Base::input) ++reads[o.index];
    for (const Step::Operand& o : s.outputs)
      if (o.base == Base::output) ++writes[o.index];
  }
  for (const Step& s : program.steps)
    for (const Update& u : s.updates) {
      const Step::Operand& in = s.inputs[u.input];
      const Step::Operand& out = s.outputs[u.output];
      if (in.base != Base::input || out.base != Base::output || in.offset || out.offset) continue;
      if (reads[in.index] == 1 && writes[out.index] == 1 &&
          program.inputs[in.index].bytes() == program.outputs[out.index].bytes())
        program.updates.push_back({out.index, in.index});
    }
}

// Finds the outputs that a step of the device makes of an input that no other reads: one upload
// writes the whole input for this step, one download reads the whole result, and nothing else is
// written to where the result lies.
class DeviceUpdates {
 public:
  DeviceUpdates(const UnallocatedProgram& unallocated, const PlacedMemory& device)
      : unallocated_(unallocated),
        device_(device),
        reads_(unallocated.buffers.size()),
        writes_(unallocated.buffers.size()) {
    for (const UnallocatedStep& s : unallocated.steps) {
      for (const Place& p : s.inputs)
        if (p.present()) ++reads_[root(p)];
      for (const Place& p : s.outputs)
        if (p.present()) ++writes_[root(p)];
    }
  }

  // Keeps them in the program. Returns Step::Operand::update by buffer.
  std::vector<std::uint32_t> keep(Program& program) const {
    std::vector<std::uint32_t> updates(unallocated_.buffers.size());
    program.update_offsets.resize(program.outputs.size());
    for (const UnallocatedStep& s : unallocated_.steps)
      for (const Update& u : s.step.updates) {
        const Place& in = s.inputs[u.input];
        const Place& out = s.outputs[u.output];
        if (s.step.kind != Step::Kind::device || !is_of(in, 1, 1) ||
            !is_of(out, reads_[root(out)], 1))
          continue;
        const auto input = uploaded(in.buffer);
        const auto output = downloaded(out.buffer);
        if (!input || !output || program.inputs[*input].bytes() != program.outputs[*output].bytes())
          continue;
        program.updates.push_back({*output, *input});
        program.update_offsets[*output] = device_.offset_of_root(out.buffer);
        updates[out.buffer] = *output + 1;
      }
    return updates;
  }

 private:
  BufferId root(const Place& p) const {
    const Buffer& b = unallocated_.buffer(p);
    return b.base == Buffer::Base::device_arena ? device_.answer.schedule.aliases[p.buffer].root
                                                : p.buffer;
  }
  // The place is a whole buffer of the device's arena, its own root, read and written so often.
  bool is_of(const Place& p, int reads, int writes) const {
    if (!p.present() || unallocated_.buffer(p).base != Buffer::Base::device_arena) return false;
    return root(p) == p.buffer && p.offset == 0 && p.desc.bytes() == unallocated_.buffer(p).bytes &&
           reads_[p.buffer] == reads && writes_[p.buffer] == writes;
  }
  // The input that is read by nothing but the upload of this buffer.
  std::optional<std::uint32_t> uploaded(BufferId buffer) const {
    for (const UnallocatedStep& s : unallocated_.steps) {
      if (s.step.kind != Step::Kind::upload || s.outputs[0].buffer != buffer) continue;
      const Buffer& from = unallocated_.buffer(s.inputs[0]);
      const bool is_whole = from.base == Buffer::Base::input && s.inputs[0].offset == 0;
      if (is_whole && reads_[s.inputs[0].buffer] == 1) return from.index;
    }
    return std::nullopt;
  }
  // The output that is written by nothing but a download of this buffer.
  std::optional<std::uint32_t> downloaded(BufferId buffer) const {
    for (const UnallocatedStep& s : unallocated_.steps) {
      if (s.step.kind != Step::Kind::download || s.inputs[0].buffer != buffer) continue;
      const Buffer& to = unallocated_.buffer(s.outputs[0]);
      const bool is_whole = to.base == Buffer::Base::output && s.inputs[0].offset == 0;
      if (is_whole && writes_[s.outputs[0].buffer] == 1) return to.index;
    }
    return std::nullopt;
  }

  const UnallocatedProgram& unallocated_;
  const PlacedMemory& device_;
  std::vector<int> reads_, writes_;  // of steps, by root
};

// Drops the dispatches that would copy an operand to where it lies already.
void drop_copies_in_place(UnallocatedStep& unallocated) {
  Step& s = unallocated.step;
  if (s.kind != Step::Kind::device) return;
  std::vector<bool> in_place(s.inputs.size());
  for (const CopiedInput& copy : unallocated.meaning.copies) {
    const Step::Operand& in = s.inputs[copy.input];
    const Step::Operand& out = s.outputs[0];
    const std::uint64_t skipped =
        s.input_bytes[copy.input] - unallocated.inputs[copy.input].desc.bytes();
    in_place[copy.input] = in.base == out.base && in.offset + skipped == out.offset + copy.offset;
  }
  std::erase_if(s.dispatches, [&](const Dispatch& d) {
    return std::ranges::any_of(d.buffers, [&](const BufferUse& use) {
      return use.of == BufferUse::Of::input && in_place[use.index] &&
             use == BufferUse::input(use.index);
    });
  });
}

StepMeaning meaning_of(UnallocatedStep& step) {
  StepMeaning meaning = std::move(step.meaning);
  for (const Place& p : step.inputs) meaning.inputs.push_back(p.desc);
  for (const Place& p : step.outputs) meaning.outputs.push_back(p.desc);
  return meaning;
}

// Moves the steps to the program in this order; steps that are not in it have no work to do.
std::vector<StepMeaning> keep_steps(std::span<UnallocatedStep> steps,
                                    std::span<const std::uint32_t> order, const Operands& operands,
                                    Program& program) {
  std::vector<StepMeaning> meanings;
  for (std::uint32_t i : order) {
    operands.resolve(steps[i], i);
    drop_copies_in_place(steps[i]);
    program.steps.push_back(std::move(steps[i].step));
    meanings.push_back(meaning_of(steps[i]));
  }
  return meanings;
}

// As before, if that is known of the memory with this number, or by a search.
Result<PlacedMemory> place_memory(const StepGraph& graph, std::size_t number,
                                  const ScheduleOptions& schedule, const ArenaOptions& options) {
  std::optional<PlacedMemory> placed;
  if (number < options.known.size())
    placed = place_as_chosen(graph, options.known[number], options.stop);
  if (!placed) {
    if (options.searches) ++*options.searches;
    QUERN_ASSIGN(placed, options.place(graph, schedule, options.strategy));
  }
  if (options.found) options.found->push_back(choice_of(*placed));
  return *std::move(placed);
}

Result<std::vector<StepMeaning>> place_on_host(UnallocatedProgram& unallocated,
                                               const ArenaOptions& options, Program& program) {
  StepGraph graph = step_graph(unallocated, Space::host, host_alignment);
  graph.inner_alignment = options.inner_alignment;
  const ScheduleOptions schedule{
      .order = options.order, .alias = options.alias, .stop = options.stop};
  QUERN_ASSIGN(const PlacedMemory host, place_memory(graph, 0, schedule, options));
  auto meanings = keep_steps(unallocated.steps, host.memory.steps,
                             {unallocated.buffers, host, host, 1}, program);
  keep_output_offsets(unallocated.buffers, host, program);
  keep_updates(program);
  keep_plan(host, program);
  return meanings;
}

// Gives the steps that have nothing to do in `other` nothing to do in `graph` either, where they
// have no operands.
void leave_out(StepGraph& graph, const StepGraph& other, const Schedule& schedule) {
  for (std::uint32_t i = 0; i < graph.steps.size(); ++i)
    if (is_void(other, schedule, i)) graph.steps[i].only_copies = true;
}

// The order is chosen for the device's memory, which holds nearly everything, and kept in the
// host's. Steps of the host stay where they are: in between they would cut the device's work into
// more submissions.
Result<std::vector<StepMeaning>> place_in_both(UnallocatedProgram& unallocated,
                                               const ArenaOptions& options, Program& program) {
  const std::uint64_t alignment = options.device_alignment;
  StepGraph on_host = step_graph(unallocated, Space::host, host_alignment);
  on_host.inner_alignment = options.inner_alignment;
  StepGraph on_device = step_graph(unallocated, Space::device, alignment);
  const bool all_on_device = std::ranges::none_of(
      unallocated.steps, [](const UnallocatedStep& s) { return s.step.kind == Step::Kind::host; });
  const ScheduleOptions schedule{
      .order = options.order && all_on_device, .alias = options.alias, .stop = options.stop};
  QUERN_ASSIGN(PlacedMemory device, place_memory(on_device, 0, schedule, options));
  leave_out(on_host, on_device, device.answer.schedule);
  const ScheduleOptions same_order{.order = false,
                                   .alias = options.alias,
                                   .stop = options.stop,
                                   .first_order = device.answer.schedule.order};
  QUERN_ASSIGN(const PlacedMemory host, place_memory(on_host, 1, same_order, options));
  leave_out(on_device, on_host, host.answer.schedule);
  device.memory = memory_of(on_device, device.answer.schedule);
  QUERN_TRY(validate(device.memory.problem, device.plan));
  const std::vector<std::uint32_t> updates = DeviceUpdates(unallocated, device).keep(program);
  auto meanings = keep_steps(unallocated.steps, host.memory.steps,
                             {unallocated.buffers, host, device, alignment, updates}, program);
  keep_output_offsets(unallocated.buffers, host, program);
  keep_plan(host, program);
  program.plain_bound = device.answer.plain_bound;
  program.order_is_optimal = device.answer.order_is_optimal;
  program.is_searched = program.is_searched && device.is_searched;
  program.device_problem = device.memory.problem;
  program.device_plan = device.plan;
  return meanings;
}

}  // namespace

Result<std::vector<StepMeaning>> place_in_arenas(UnallocatedProgram unallocated,
                                                 const ArenaOptions& options, Program& program) {
  return options.device_alignment ? place_in_both(unallocated, options, program)
                                  : place_on_host(unallocated, options, program);
}

}  // namespace quern::lowering
