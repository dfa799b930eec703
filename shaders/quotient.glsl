// SPDX-License-Identifier: Apache-2.0
// Division of f32. Vulkan allows it 2.5 units in the last place, and NVIDIA's driver uses them.

// The upper half of a number's digits.
float upper_half(float v) {
  precise const float wide = 4097.0 * v;
  precise const float over = wide - v;
  precise const float upper = wide - over;
  return upper;
}
// a / b, which a device may give a last digit too much or too little of, rounded as on the CPU: q
// and what is left of a after q * b, whose last digits are found without a fused product.
float rounded_quotient(float a, float b) {
  precise const float q = a / b;
  precise const float p = q * b;
  const float q1 = upper_half(q);
  const float b1 = upper_half(b);
  precise const float q2 = q - q1;
  precise const float b2 = b - b1;
  precise const float low = ((q1 * b1 - p) + q1 * b2 + q2 * b1) + q2 * b2;
  precise const float rest = (a - p) - low;
  precise const float better = q + rest / b;
  // The correction is no good for zeros, infinities and very small or large numbers: q stays.
  return abs(better - q) < abs(q) * 1e-6 ? better : q;
}
vec4 rounded_quotient(vec4 a, vec4 b) {
  return vec4(rounded_quotient(a.x, b.x), rounded_quotient(a.y, b.y), rounded_quotient(a.z, b.z),
              rounded_quotient(a.w, b.w));
}
