// SPDX-License-Identifier: Apache-2.0
#include "engine/compile/memory_need.h"

#include <algorithm>

#include "engine/compile/mapped_source.h"
#include "engine/run/memory_block.h"
#include "engine/vocabulary/multiples.h"

namespace quern {
namespace {

// Outputs that are unchanged inputs: a session copies them.
std::vector<std::uint64_t> copied_outputs(const PlanNode& last,
                                          std::span<const RuntimeValue> inputs) {
  std::vector<std::uint64_t> sizes;
  const auto add = [&](Slot slot, std::size_t element) {
    if (slot < inputs.size() && element < inputs[slot].tensors.size())
      sizes.push_back(inputs[slot].tensors[element].type.bytes());
  };
  for (const ResultRef& r : last.segment.results) {
    for (const SlotRef& t : r.tensors) add(t.slot, t.element);
    if (!r.whole_slot || *r.whole_slot >= inputs.size()) continue;
    for (std::size_t i = 0; i < inputs[*r.whole_slot].tensors.size(); ++i) add(*r.whole_slot, i);
  }
  return sizes;
}

std::size_t reserved_for(std::span<const std::uint64_t> sizes, const MemoryPoolKind& kind) {
  if (sizes.empty()) return 0;
  InventedSource source(MappedSource().page());
  const auto pool = kind.make(source, {});
  for (const std::uint64_t bytes : sizes)
    if (!pool->allocate(bytes)) return std::numeric_limits<std::size_t>::max() / 2;
  return pool->stats().most.reserved;
}

// Rounds up to the granularity of device memory.
std::size_t padded(std::size_t bytes) {
  return round_up(bytes, 256);
}

}  // namespace

MemoryNeed memory_need(std::span<const std::shared_ptr<const PlanNode>> partition,
                       std::span<const RuntimeValue> inputs, std::size_t weights,
                       const MemoryPoolKind& pool, const HeldMemory& held) {
  MemoryNeed need{.weights = weights, .is_complete = partition.size() == 1};
  if (partition.empty()) return need;
  std::size_t device = held.device_arena;  // plans of a session run in one, one after the other
  std::size_t most_up = 0;
  std::size_t most_down = 0;
  std::vector<std::uint64_t> pooled;
  for (const auto& node : partition) {
    if (node != partition[0]) pooled.push_back(node->program->arena_bytes);
    device = std::max(device, padded(node->program->device_plan.size));
    std::size_t up = 0;
    std::size_t down = 0;
    for (const Step& s : node->program->steps) {
      need.scratch = std::max(need.scratch, s.scratch_bytes);
      if (s.kind == Step::Kind::upload) up += padded(s.input_bytes[0]);
      if (s.kind == Step::Kind::download) down += padded(s.output_bytes[0]);
    }
    most_up = std::max(most_up, up);
    most_down = std::max(most_down, down);
    need.is_complete = need.is_complete && !node->segment.rest && node->controls.empty();
  }
  const std::size_t host = MemoryBlock::size_for(partition[0]->program->arena_bytes);
  need.arena = std::max(host, held.arena) + device;
  need.staging = std::max(most_up + most_down, held.staging);
  for (const std::uint64_t bytes : copied_outputs(*partition.back(), inputs))
    pooled.push_back(bytes);
  need.pool = reserved_for(pooled, pool);
  return need;
}

}  // namespace quern
