// SPDX-License-Identifier: Apache-2.0
// Random numbers and Fourier transforms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <quern/dtype.h>

#include "graph/op.h"

namespace quern {

enum class RandomKind : std::uint8_t { uniform, normal };
std::span<const std::string_view> enum_names(RandomKind);
// counter is our own: an element is a function of the seed and of its index. mersenne is the
// sequence that NumPy's RandomState draws for the seed, as ONNX's reference does.
enum class RandomGenerator : std::uint8_t { counter, mersenne };
std::span<const std::string_view> enum_names(RandomGenerator);
// (shape) -> samples: equal seeds give the same values on every run. mersenne takes seeds below
// 2^32.
struct Random {
  RandomKind kind = RandomKind::uniform;
  RandomGenerator generator = RandomGenerator::counter;
  DType dtype = DType::f32;
  float low_or_mean = 0;
  float high_or_scale = 1;
  std::uint64_t seed = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("generator", s.generator), f("dtype", s.dtype);
    f("low_or_mean", s.low_or_mean), f("high_or_scale", s.high_or_scale), f("seed", s.seed);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Random&) const = default;
};

// (log probabilities [batch, classes]) -> drawn class indices [batch, samples]
struct Multinomial {
  DType dtype = DType::i32;
  std::int64_t sample_size = 1;
  std::uint64_t seed = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("dtype", s.dtype), f("sample_size", s.sample_size), f("seed", s.seed);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Multinomial&) const = default;
};

// (x, dft_length?, axis?)
struct Dft {
  bool inverse = false;
  bool onesided = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("inverse", s.inverse), f("onesided", s.onesided);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Dft&) const = default;
};

// (signal, frame_step, window?, frame_length?)
struct Stft {
  bool onesided = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("onesided", s.onesided);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Stft&) const = default;
};

// (num_mel_bins, dft_length, sample_rate, lower_edge, upper_edge)
struct MelWeightMatrix {
  DType dtype = DType::f32;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("dtype", s.dtype);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const MelWeightMatrix&) const = default;
};

inline bool gives_real(const Dft& op) {
  return op.inverse && op.onesided;
}

inline std::int64_t default_length(const Dft& op, std::int64_t size) {
  return gives_real(op) ? 2 * (size - 1) : size;
}

using RandomOps = OpList<Random, Multinomial, Dft, Stft, MelWeightMatrix>;

}  // namespace quern
