// SPDX-License-Identifier: Apache-2.0
// Softmax of scores that come one after the other: sums are held for the highest so far.

#define NOTHING uintBitsToFloat(0xff800000u)  // -inf, the score of what is not seen

// exp(score - highest), 0 for no score, also where that is the highest.
float share_of(float score, float highest) {
  return score == NOTHING ? 0.0 : exp(score - highest);
}
// Floats of what a part of the keys gives a row: sums of the values' columns, the highest score,
// and the sum of the shares.
uint record_size(uint columns) {
  return columns + 2;
}
