// SPDX-License-Identifier: Apache-2.0
// Waiting asleep for what another thread writes: std::atomic's wait(), whose version for systems
// without futexes (libstdc++ 12) may sleep through the change.
#pragma once

#include <atomic>

namespace quern::platform {

// Returns when `value` is no longer `known`. Whoever changes it calls one of the others then.
void wait_while(const std::atomic<unsigned>& value, unsigned known) noexcept;
void wake_one(std::atomic<unsigned>& value) noexcept;
void wake_all(std::atomic<unsigned>& value) noexcept;

}  // namespace quern::platform
