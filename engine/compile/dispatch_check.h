// SPDX-License-Identifier: Apache-2.0
// Checks the commands of a program against the limits of the device. The check is independent of
// the kernels that describe dispatches and of the lowering that places operands: it counts bytes.
#pragma once

#include <cstdint>
#include <functional>

#include <quern/status.h>

#include "engine/compile/program.h"

namespace quern {

struct DispatchLimits {
  GpuTarget target;
  std::uint64_t alignment = 1;  // of the offsets of a dispatch's operands
  // The size in bytes of an entry of Program::device_constants.
  std::function<std::uint64_t(const void*)> constant_bytes;
};

// Checks that every step stays within its operands, every operand within its memory, and every
// dispatch and its candidates within the limits. Errors: internal, with node, shader and numbers.
Status check_dispatches(const Program& program, const DispatchLimits& limits);

}  // namespace quern
