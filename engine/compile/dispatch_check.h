// SPDX-License-Identifier: Apache-2.0
// Holds what a program tells a device to what the device can do. The kernels that describe
// dispatches and the lowering that places operands are not asked: this counts bytes.
#pragma once

#include <cstdint>
#include <functional>

#include <quern/status.h>

#include "engine/compile/program.h"

namespace quern {

struct DispatchLimits {
  GpuTarget target;
  std::uint64_t alignment = 1;  // of the offsets of a dispatch's operands
  // The bytes of an entry of Program::device_constants.
  std::function<std::uint64_t(const void*)> constant_bytes;
};

// Whether every step stays inside of its operands, every operand inside of its memory, and every
// dispatch, its candidates too, inside of the limits. Errors: internal, with node, shader, numbers.
Status check_dispatches(const Program& program, const DispatchLimits& limits);

}  // namespace quern
