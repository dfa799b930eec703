// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/submission_work.h"

#include <algorithm>

#include "engine/devices/vulkan/weights.h"

namespace quern::vulkan {
namespace {

// Bytes of constants, which a step reads from one end to the other at most.
double constant_bytes(const Step& s, const Program& program) {
  double bytes = 0;
  for (std::size_t i = 0; i < s.inputs.size(); ++i)
    if (s.inputs[i].base == Step::Operand::Base::device_constant)
      bytes += static_cast<double>(s.input_bytes[i]);
  for (const std::uint32_t i : s.gpu_constants)
    bytes +=
        static_cast<double>(static_cast<const Slice*>(program.device_constants[i].get())->bytes);
  return bytes;
}

}  // namespace

double work_of(const Step& s, const Program& program) {
  double operations = 0;
  for (const Dispatch& d : s.dispatches) operations += d.operations;
  const double streamed = std::min(constant_bytes(s, program), s.cost.bytes);
  return std::max(operations, s.cost.flops) + 16 * (s.cost.bytes - streamed) + streamed;
}

double piece_of(const Core& core) {
  if (core.options().piece) return static_cast<double>(core.options().piece);
  return core.capabilities().target().software ? 1e8 : 4e9;
}

double start_of(const Core& core) {
  return piece_of(core) / (core.capabilities().target().software ? 2500 : 10000);
}

double longest_whole(const Core& core) {
  if (core.options().piece) return 64 * static_cast<double>(core.options().piece);
  const Capabilities& c = core.capabilities();
  return piece_of(core) * (c.target().software ? 4 : c.units);
}

}  // namespace quern::vulkan
