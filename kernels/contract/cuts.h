// SPDX-License-Identifier: Apache-2.0
// The sizes at which work is cut: into calls of some milliseconds, into parts for threads.
#pragma once

#include <cstdint>

namespace quern {

// Returns `usual`, or with QUERN_CUTS=small in the environment a millionth of it, at least 1: small
// graphs then take the ways of large ones (`quern verify --levers cuts=small`). Read once.
std::int64_t cut_size(std::int64_t usual) noexcept;
double cut_work(double usual) noexcept;
bool cuts_are_small() noexcept;

}  // namespace quern
