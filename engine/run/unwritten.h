// SPDX-License-Identifier: Apache-2.0
// Memory that a run has not written yet: with QUERN_MEMORY=nan in the environment its bytes are all
// ones, NaN in the floating-point types, so that a kernel is seen that reads it (`quern verify
// --levers memory=nan`).
#pragma once

#include <cstddef>
#include <span>

namespace quern {

// Does nothing without that variable, which is read once.
void mark_unwritten(std::span<std::byte> memory) noexcept;

}  // namespace quern
