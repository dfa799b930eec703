// SPDX-License-Identifier: Apache-2.0
#include "engine/lowering/unallocated_program.h"

#include <algorithm>
#include <utility>

#include "engine/vocabulary/text_util.h"

namespace quern::lowering {
namespace {

// "c16" for blocks of channels, "channels last", "" for row-major; for display.
std::string layout_name(const TensorDesc& t) {
  if (is_row_major(t)) return "";
  if (t.layout.block) return cat("c", static_cast<int>(t.layout.block));
  const std::size_t rank = t.shape.rank();
  const bool last =
      rank >= 3 && t.layout.strides[1] == 1 && t.layout.strides[rank - 1] == t.shape[1];
  return last ? std::string("channels last") : cat("strides ", t.layout.strides.text());
}

std::string first_layout_name(std::span<const Place> places) {
  const auto first = std::ranges::find_if(places, &Place::present);
  return first == places.end() ? std::string() : layout_name(first->desc);
}

// The layouts of the first operand and the first result; empty if both are row-major.
std::string layouts_text(std::span<const Place> inputs, std::span<const Place> outputs) {
  const std::string in = first_layout_name(inputs);
  const std::string out = first_layout_name(outputs);
  if (in.empty() && out.empty()) return "";
  return cat(in.empty() ? "row-major" : in, " -> ", out.empty() ? "row-major" : out);
}

// Returns true if the place covers all of a buffer in an arena.
bool is_whole(const UnallocatedProgram& unallocated, const Place& place) {
  if (!place.present()) return false;
  const Buffer& b = unallocated.buffer(place);
  return b.in_arena() && place.offset == 0 && place.desc.bytes() == b.bytes;
}

// Returns true if the input and the output may share a buffer. If the kernel demands that, they are
// one buffer already.
bool may_alias(const UnallocatedProgram& unallocated, const UnallocatedStep& step,
               const Sharing& share) {
  const Place& in = step.inputs[share.input];
  const Place& out = step.outputs[share.output];
  return share.alias == Alias::may && out.present() && is_whole(unallocated, in) &&
         in.buffer != out.buffer && in.desc.bytes() == unallocated.buffer(out).bytes;
}

}  // namespace

BufferId UnallocatedProgram::add(Buffer buffer) {
  buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(buffers.size() - 1);
}

BufferId UnallocatedProgram::add(Space space, std::size_t bytes, std::string name) {
  using Base = Buffer::Base;
  return add({.base = space == Space::host ? Base::arena : Base::device_arena,
              .bytes = bytes,
              .name = std::move(name)});
}

void UnallocatedProgram::append(Step step, std::span<const Place> inputs,
                                std::span<const Place> outputs, const KernelChoice& choice,
                                StepMeaning meaning) {
  step.layouts = layouts_text(inputs, outputs);
  UnallocatedStep s{
      std::move(step), {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
  for (const Sharing& share : choice.sharing)
    if (may_alias(*this, s, share))
      s.shares.push_back({s.inputs[share.input].buffer, s.outputs[share.output].buffer, false, 0});
  for (const CopiedInput& copy : choice.copies)
    if (is_whole(*this, s.inputs[copy.input]))
      s.shares.push_back({s.inputs[copy.input].buffer, s.outputs[0].buffer, true, copy.offset});
  s.only_copies = !choice.copies.empty();
  s.meaning = std::move(meaning);
  s.meaning.sharing = choice.sharing;
  s.meaning.copies = choice.copies;
  steps.push_back(std::move(s));
}

Step step_of(KernelChoice& choice) {
  Step s;
  s.implementation = std::move(choice.implementation);
  s.entry = choice.entry;
  s.work = std::move(choice.work_text);
  s.scratch_bytes = choice.scratch_bytes;
  s.updates = choice.updates;
  if (choice.is_on_host()) {
    s.kernel = std::get<std::unique_ptr<CpuKernel>>(std::move(choice.work));
    return s;
  }
  s.kind = Step::Kind::device;
  if (choice.is_on_gpu())
    s.dispatches = std::move(choice.on_gpu().dispatches);
  else
    s.code = std::get<std::shared_ptr<const DeviceCode>>(std::move(choice.work));
  return s;
}

}  // namespace quern::lowering
