// SPDX-License-Identifier: Apache-2.0
// Needs rows.glsl, x[] and length: where the best element of a row is, its value known to all; of
// equal ones the first or the last. NaNs are equal.
uint best_index(uint base, float best, bool last) {
  const uint lanes = gl_WorkGroupSize.x;
  // Indices are exact as floats up to 2^24; longer rows stay on the CPU.
  float mine = last ? -1.0 : 16777216.0;
  for (uint i = gl_LocalInvocationID.x; i < length; i += lanes) {
    const bool same = is_nan_bits(best) ? is_nan_bits(x[base + i]) : x[base + i] == best;
    if (same) mine = last ? max(mine, float(i)) : min(mine, float(i));
  }
  return uint(last ? row_max(mine) : row_min(mine));
}
