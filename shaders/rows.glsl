// SPDX-License-Identifier: Apache-2.0
// One workgroup a row of neighbouring elements: what its invocations found, put together.

shared float partials[gl_WorkGroupSize.x];

#define QUERN_REDUCTION(name, combine)                              \
  float name(float mine) {                                          \
    const uint lane = gl_LocalInvocationID.x;                       \
    partials[lane] = mine;                                          \
    barrier();                                                      \
    for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) { \
      if (lane < step) {                                            \
        const float a = partials[lane];                             \
        const float b = partials[lane + step];                      \
        partials[lane] = combine;                                   \
      }                                                             \
      barrier();                                                    \
    }                                                               \
    const float all = partials[0];                                  \
    barrier();                                                      \
    return all;                                                     \
  }

bool is_nan_bits(float x) {
  return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
float max_with_nan(float a, float b) {
  return is_nan_bits(a) || a > b ? a : b;
}
float min_with_nan(float a, float b) {
  return is_nan_bits(a) || a < b ? a : b;
}
QUERN_REDUCTION(row_sum, a + b)
QUERN_REDUCTION(row_product, a * b)
QUERN_REDUCTION(row_max, max_with_nan(a, b))
QUERN_REDUCTION(row_min, min_with_nan(a, b))
