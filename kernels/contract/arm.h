// SPDX-License-Identifier: Apache-2.0
// What the ARM CPU of this process has beyond what its architecture asks for, as the kernel says.
#pragma once

#if defined(__linux__) && (defined(__aarch64__) || defined(__arm__))
#include <sys/auxv.h>
#endif

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
  return {.neon = true,
          .dotprod = (getauxval(AT_HWCAP) >> 20 & 1) != 0,
          .i8mm = (getauxval(AT_HWCAP2) >> 13 & 1) != 0};
#elif defined(__linux__) && defined(__arm__)
  const unsigned long bits = getauxval(AT_HWCAP);
  return {.neon = (bits >> 12 & 1) != 0 && (bits >> 16 & 1) != 0, .dotprod = false, .i8mm = false};
#elif defined(__aarch64__)
  return {.neon = true, .dotprod = false, .i8mm = false};
#else
  return {};
#endif
}

}  // namespace quern
