// SPDX-License-Identifier: Apache-2.0
// What this build has code for: everything, unless it was made for some models (QUERN_OPS_FROM).
// Such a build has QUERN_ONLY, the header that `quern inspect --needs` writes for them. A model
// with anything else is refused when it is loaded.
#pragma once

#include <algorithm>
#include <array>

#include <quern/dtype.h>
#ifdef QUERN_ONLY
#include QUERN_ONLY
#endif

namespace quern {

#ifdef QUERN_ONLY_TYPES
inline constexpr std::array built_types = {QUERN_ONLY_TYPES};
#else
inline constexpr std::array<DType, 0> built_types = {};  // all
#endif

constexpr bool is_built(DType dtype) {
  return built_types.empty() || std::ranges::find(built_types, dtype) != built_types.end();
}

}  // namespace quern
