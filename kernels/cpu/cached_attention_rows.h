// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/contract/kernel.h"

namespace quern {

// The rows of one sequence that attend to a cache.
struct KeyRows {
  std::int64_t before;  // keys in front of those of the rows
  std::int64_t rows;
  std::int64_t all;  // keys that the cache has room for
};
// Errors: invalid_argument, where a row lies beyond the keys.
Status check_keys_in_cache(const KeyRows& keys);

// In blocks of keys with a running maximum: no row of scores is ever whole.
Selection select_cached_attention_rows(const KernelRequest& request);

}  // namespace quern
