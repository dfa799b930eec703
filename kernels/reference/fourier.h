// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform in double, of any length: sum over n of x[n] exp(-2 pi i k n / N).
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/reference.h"

namespace quern {

struct Complex {
  double re = 0;
  double im = 0;
};
inline Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
inline Complex conjugate(Complex a) {
  return {a.re, -a.im};
}

// exp(-2 pi i k / n) for 0 <= k < n: exact at multiples of a quarter turn, and symmetric to the
// last bit, so that terms that cancel mathematically cancel here.
Complex unit_root(std::int64_t k, std::int64_t n);

// Cooley and Tukey over the prime factors of the length: n log n for smooth lengths, n^2 for
// primes. Uses only the caller's memory.
class FourierTransform {
 public:
  // `stop` may be null; once it is reached, results are anything.
  FourierTransform(std::int64_t length, Scratch& scratch, const Stop* stop);
  static std::size_t scratch_bytes(std::int64_t length);

  std::int64_t length() const { return length_; }
  // input() is to be filled; output() is the result of forward() or inverse().
  Complex* input() { return input_; }
  const Complex* output() const { return output_; }
  StopCheck& check() { return check_; }
  void forward();
  // Includes the factor 1 / length; overwrites input().
  void inverse();

 private:
  void transform(const Complex* in, std::int64_t stride, Complex* out, std::int64_t n);

  std::int64_t length_;
  Complex* roots_;
  Complex* input_;
  Complex* output_;
  Complex* column_;
  StopCheck check_;
};

}  // namespace quern
