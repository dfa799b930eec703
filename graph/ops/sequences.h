// SPDX-License-Identifier: Apache-2.0
// Sequences and optionals.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <quern/dtype.h>

#include "graph/op.h"

namespace quern {
// A sequence is a tuple of tensors: planning knows its length and resolves these ops to aliases.

enum class SequenceKind : std::uint8_t { construct, empty, at, insert, erase, length };
std::span<const std::string_view> enum_names(SequenceKind);
// construct(x...), empty(), at(s, i), insert(s, x, i?), erase(s, i?), length(s)
struct Sequence {
  SequenceKind kind = SequenceKind::construct;
  DType dtype = DType::f32;  // of empty

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("dtype", s.dtype);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Sequence&) const = default;
};

// (x, split?): parts of one size or of given sizes along `axis`.
struct SplitToSequence {
  std::int64_t axis = 0;
  bool keepdims = true;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("keepdims", s.keepdims);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const SplitToSequence&) const = default;
};

struct ConcatFromSequence {
  std::int64_t axis = 0;
  bool new_axis = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("axis", s.axis), f("new_axis", s.new_axis);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const ConcatFromSequence&) const = default;
};

// (sequence, more sequences or tensors..., captures...); body: (elements..., captures...).
struct SequenceMap {
  std::int64_t inputs = 1;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("inputs", s.inputs);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const SequenceMap&) const = default;
};

enum class OptionalKind : std::uint8_t { make, has_element, get_element };
std::span<const std::string_view> enum_names(OptionalKind);
struct Optional {
  OptionalKind kind = OptionalKind::make;
  DType dtype = DType::f32;  // of an empty make
  bool of_sequence = false;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("kind", s.kind), f("dtype", s.dtype), f("of_sequence", s.of_sequence);
  }
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Optional&) const = default;
};

using SequencesOps = OpList<Sequence, SplitToSequence, ConcatFromSequence, SequenceMap, Optional>;

}  // namespace quern
