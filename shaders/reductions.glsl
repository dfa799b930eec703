// SPDX-License-Identifier: Apache-2.0
// The result of updating an element, both as bits: ScatterReduction.

const uint UPDATE_NONE = 0, UPDATE_ADD = 1, UPDATE_MUL = 2, UPDATE_MAX = 3, UPDATE_MIN = 4;

uint updated(uint reduction, bool integers, uint old, uint update) {
  if (reduction == UPDATE_NONE) return update;
  if (integers) {
    const int p = int(old);
    const int q = int(update);
    if (reduction == UPDATE_ADD) return uint(p + q);
    if (reduction == UPDATE_MUL) return uint(p * q);
    return uint(reduction == UPDATE_MAX ? max(p, q) : min(p, q));
  }
  const float p = uintBitsToFloat(old);
  const float q = uintBitsToFloat(update);
  if (reduction == UPDATE_ADD) return floatBitsToUint(p + q);
  if (reduction == UPDATE_MUL) return floatBitsToUint(p * q);
  // A NaN stays.
  if ((old & 0x7fffffffu) > 0x7f800000u) return old;
  if ((update & 0x7fffffffu) > 0x7f800000u) return update;
  return (reduction == UPDATE_MAX ? q > p : q < p) ? update : old;
}
