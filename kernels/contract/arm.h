// SPDX-License-Identifier: Apache-2.0
// What the ARM CPU of this process has beyond what its architecture asks for, as the kernel says.
#pragma once

#include "engine/vocabulary/platform/process.h"

namespace quern {

struct ArmFeatures {
  bool neon;     // with fused multiply-add
  bool dotprod;  // sums of four products of bytes
  bool i8mm;     // products of small matrices of bytes
};

// All false on other CPUs. Operating systems that have no such list are asked for nothing: what the
// architecture asks for is there. The bits are those of the kernel's <asm/hwcap.h>.
inline ArmFeatures arm_features() noexcept {
#if defined(__linux__) && defined(__aarch64__)
  const platform::CpuBits bits = platform::cpu_bits();
  return {
      .neon = true, .dotprod = (bits.first >> 20 & 1) != 0, .i8mm = (bits.second >> 13 & 1) != 0};
#elif defined(__linux__) && defined(__arm__)
  const unsigned long bits = platform::cpu_bits().first;
  return {.neon = (bits >> 12 & 1) != 0 && (bits >> 16 & 1) != 0, .dotprod = false, .i8mm = false};
#elif defined(__aarch64__)
  return {.neon = true, .dotprod = false, .i8mm = false};
#else
  return {};
#endif
}

}  // namespace quern
