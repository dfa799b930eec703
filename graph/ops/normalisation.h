// SPDX-License-Identifier: Apache-2.0
// Normalisations and softmax.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op.h"

namespace quern {

// (x, scale, bias, mean, variance); in training mode also gives running mean and variance.
struct BatchNorm {
  float epsilon = 1e-5f;
  float momentum = 0.9f;
  bool training = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("epsilon", s.epsilon), f("momentum", s.momentum), f("training", s.training);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const BatchNorm&) const = default;
};

// Over the dimensions from `axis` on: (x, scale?, bias?) -> y, mean?, inverse standard deviation?
// ONNX LayerNormalization; without `center` RMSNormalization.
struct LayerNorm {
  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  bool center = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("epsilon", s.epsilon), f("center", s.center);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const LayerNorm&) const = default;
};

// Over each group of channels of x [N, C, ...], with per-channel scale and bias [C]. ONNX
// GroupNormalization, and InstanceNormalization as groups = 0: one group per channel.
struct GroupNorm {
  std::int64_t groups = 0;
  float epsilon = 1e-5f;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("groups", s.groups), f("epsilon", s.epsilon);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const GroupNorm&) const = default;
};

// Local response normalisation across channels.
struct Lrn {
  std::int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("size", s.size), f("alpha", s.alpha), f("beta", s.beta), f("bias", s.bias);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Lrn&) const = default;
};

// x / max(|x|_p, epsilon) along one axis; 0 where the norm is 0. ONNX's has no epsilon.
struct LpNorm {
  std::int64_t axis = -1;
  std::int64_t p = 2;
  float epsilon = 0;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("p", s.p), f("epsilon", s.epsilon);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const LpNorm&) const = default;
};

enum class SoftmaxKind : std::uint8_t { softmax, log_softmax, hardmax };
std::span<const std::string_view> enum_names(SoftmaxKind);
// Along one axis, or with `flatten` (opsets below 13) over all dimensions from it on.
struct Softmax {
  SoftmaxKind kind = SoftmaxKind::softmax;
  std::int64_t axis = -1;
  bool flatten = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("axis", s.axis), f("flatten", s.flatten);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Softmax&) const = default;
};

using NormalisationOps = OpList<BatchNorm, LayerNorm, GroupNorm, Lrn, LpNorm, Softmax>;

}  // namespace quern
