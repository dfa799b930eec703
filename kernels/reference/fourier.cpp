// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/fourier.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/contract/iterate.h"

namespace quern {

Complex unit_root(std::int64_t k, std::int64_t n) {
  // Reflections lead into the first eighth of the circle; only there the library's functions serve.
  double sign = -1;
  if (2 * k > n) {
    k = n - k;
    sign = 1;
  }
  if (4 * k > n) {  // the angle pi - a with a = 2 pi (n - 2k) / 2n
    const Complex r = unit_root(n - 2 * k, 2 * n);
    return {-r.re, -sign * r.im};
  }
  const bool swapped = 8 * k > n;  // the angle pi / 2 - a with a = 2 pi (n - 4k) / 4n
  const double turn = swapped ? static_cast<double>(n - 4 * k) / (4 * static_cast<double>(n))
                              : static_cast<double>(k) / static_cast<double>(n);
  double c = std::cos(2 * std::numbers::pi * turn);
  double s = std::sin(2 * std::numbers::pi * turn);
  if (swapped) std::swap(c, s);
  return {c, sign * s};
}

namespace {

std::int64_t smallest_factor(std::int64_t n) {
  for (std::int64_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

}  // namespace

FourierTransform::FourierTransform(std::int64_t length, Scratch& scratch, const Stop* stop)
    : length_(length),
      roots_(scratch.take<Complex>(static_cast<std::size_t>(length))),
      input_(scratch.take<Complex>(static_cast<std::size_t>(length))),
      output_(scratch.take<Complex>(static_cast<std::size_t>(length))),
      column_(scratch.take<Complex>(static_cast<std::size_t>(length))),
      check_(stop) {
  for_each_until(length, 64, check_, [&](std::int64_t k) { roots_[k] = unit_root(k, length); });
}

std::size_t FourierTransform::scratch_bytes(std::int64_t length) {
  return 4 * Scratch::bytes_for<Complex>(static_cast<std::size_t>(length));
}

void FourierTransform::forward() {
  transform(input_, 1, output_, length_);
}

void FourierTransform::inverse() {
  for_each_until(length_, 2, check_, [&](std::int64_t i) { input_[i] = conjugate(input_[i]); });
  forward();
  const auto n = static_cast<double>(length_);
  for_each_until(length_, 2, check_, [&](std::int64_t i) {
    output_[i] = {output_[i].re / n, -output_[i].im / n};
  });
}

// Transforms the n elements in[0], in[stride], ...: with p the smallest factor of n, transforms
// every p-th of them, then combines: out[k + q m] = sum over r of W^(r (k + q m)) out_r[k], m = n /
// p.
void FourierTransform::transform(const Complex* in, std::int64_t stride, Complex* out,
                                 std::int64_t n) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const std::int64_t p = smallest_factor(n);
  const std::int64_t m = n / p;
  for (std::int64_t r = 0; r < p && !check_.spend(8); ++r)
    transform(in + r * stride, stride * p, out + r * m, m);
  for (std::int64_t k = 0; k < m && !check_.is_over(); ++k) {
    for_each_until(p, 2, check_, [&](std::int64_t r) { column_[r] = out[r * m + k]; });
    for (std::int64_t i = k; i < n && !check_.is_over(); i += m) {
      Complex sum = column_[0];
      for_each_until(p - 1, 8, check_, [&](std::int64_t r) {
        sum = sum + roots_[(r + 1) * i % n * (length_ / n)] * column_[r + 1];
      });
      out[i] = sum;
    }
  }
}

}  // namespace quern
