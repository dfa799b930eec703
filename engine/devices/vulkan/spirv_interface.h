// SPDX-License-Identifier: Apache-2.0
// What a SPIR-V module declares, as far as dispatches must fit it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include <quern/status.h>

namespace quern::vulkan {

struct SpirvInterface {
  std::uint32_t version = 0;             // as the header has it: 0x00010300 is 1.3
  std::set<std::uint32_t> capabilities;  // by their numbers
  std::set<std::uint32_t> bindings;
  std::set<std::uint32_t> written;  // the bindings among them that are not readonly
  std::set<std::uint32_t> constants;
  std::uint64_t push_bytes = 0;
  std::uint32_t width_constant = 0;     // the specialisation constant that is a workgroup's width
  std::uint64_t fixed_invocations = 0;  // of a workgroup whose size is no constant's; 0: it is
};

// Whatever the words are: a header, instructions that fill the module, and one entry point, a
// compute shader's, called main. Errors: invalid_argument, with the place and what is wrong there.
// Types, operands and the order of instructions are not checked: spirv-val does that.
Result<SpirvInterface> read_spirv(std::span<const std::uint32_t> words);

}  // namespace quern::vulkan
