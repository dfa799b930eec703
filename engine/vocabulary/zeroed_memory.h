// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace quern {

// Allocates `bytes` zeroed bytes aligned to 64; null if the system has none. A large block is
// mapped from the system, which zeroes it, in huge pages if it has some, and is returned to it at
// once: between small blocks it would leave a hole that stays resident.
std::shared_ptr<std::byte> zeroed_memory(std::size_t bytes);

}  // namespace quern
