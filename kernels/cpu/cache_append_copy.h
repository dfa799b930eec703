// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/contract/kernel.h"

namespace quern {

// The rows of one sequence in a cache.
struct CacheRows {
  std::int64_t before;  // in front of the new ones
  std::int64_t past;    // that there are of the past
  std::int64_t rows;    // new ones
  std::int64_t all;     // of the result
};
// Errors: invalid_argument, where rows are wanted that the past has not or the result has no room
// for.
Status check_room_in_cache(const CacheRows& rows);

// Copies the past unless the result lies there, and the new rows.
Selection select_cache_append_copy(const KernelRequest& request);

}  // namespace quern
