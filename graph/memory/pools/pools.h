// SPDX-License-Identifier: Apache-2.0
// All pools. Each has a file, a line here and a row in pool.cpp.
#pragma once

#include "graph/memory/pools/pool.h"

namespace quern {

std::unique_ptr<MemoryPool> make_best_fit_arena(PoolSource& source,
                                                const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_kept_best_fit_arena(PoolSource& source,
                                                     const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_bfc(PoolSource& source, const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_bfc_as_requested(PoolSource& source,
                                                  const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_tlsf(PoolSource& source, const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_size_classes(PoolSource& source, const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_power_of_two(PoolSource& source, const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_exact_shape_cache(PoolSource& source,
                                                   const MemoryPoolOptions& options);
std::unique_ptr<MemoryPool> make_budget_list(PoolSource& source, const MemoryPoolOptions& options);

}  // namespace quern
