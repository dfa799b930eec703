// SPDX-License-Identifier: Apache-2.0
#include "shaders/shaders.h"

extern "C" {
#define X(name) extern const std::uint32_t quern_spv_##name[], quern_spv_##name##_end[];
#include "variants.inc"
#undef X
}

namespace quern {

static const Shader table[] = {
#define X(name) {#name, quern_spv_##name, quern_spv_##name##_end},
#include "variants.inc"
#undef X
};

std::span<const Shader> shaders() {
  return table;
}

}  // namespace quern
