// SPDX-License-Identifier: Apache-2.0
// The GPU kernels of caches, as those of kernels.h.
#pragma once

#include "kernels/contract/kernel.h"

namespace quern::gpu {

#ifdef QUERN_ONLY
inline constexpr GpuSelect select_cache_append = nullptr;
inline constexpr GpuSelect select_cached_attention = nullptr;
#else
Selection select_cache_append(const KernelRequest& request);
Selection select_cached_attention(const KernelRequest& request);
#endif

}  // namespace quern::gpu
