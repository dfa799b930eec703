// SPDX-License-Identifier: Apache-2.0
// References: the plainest correct loop of each operator, defined in kernels/. The graph evaluates
// constants with them but does not link against them: the creator of a Graph passes them in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <quern/status.h>
#include <quern/tensor.h>

#include "engine/vocabulary/multiples.h"
#include "engine/vocabulary/stop.h"
#include "graph/op.h"

namespace quern {

// Working memory of a reference: its size is declared in advance, and it is handed out in pieces
// aligned to 64 bytes.
class Scratch {
 public:
  Scratch(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  // Uninitialised room for n elements. The caller's OpDef::scratch has counted it.
  template <class T>
  T* take(std::size_t n) {
    std::byte* p = data_ + used_;
    used_ += bytes_for<T>(n);
    return used_ <= size_ ? reinterpret_cast<T*>(p) : nullptr;
  }
  template <class T>
  static constexpr std::size_t bytes_for(std::size_t n) {
    return round_up(n * sizeof(T), 64);
  }

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t used_ = 0;
};

// Storage for the strings that a run creates; they stay valid until clear(), since values of loops
// and results point into it. Operators ask for room, before each string that may be long, or once
// where the strings are as many as elements.
class StringPool {
 public:
  static constexpr std::size_t usual_bytes = std::size_t{64} << 20;

  void limit(std::size_t bytes) { most_bytes_ = std::min(bytes, usual_bytes); }
  std::size_t most_bytes() const { return most_bytes_; }
  bool has_room(std::size_t bytes) const {
    return bytes_ <= most_bytes_ && bytes <= most_bytes_ - bytes_;
  }
  StringRef add(std::string_view text) {
    const std::string& s = strings_.emplace_back(text);
    bytes_ += sizeof(s) + text.size();
    return {s.data(), s.size()};
  }
  void clear() {
    strings_.clear();
    bytes_ = 0;
  }

 private:
  std::size_t most_bytes_ = usual_bytes;
  std::size_t bytes_ = 0;
  std::deque<std::string> strings_;
};

// Dense row-major views; an absent input has no data. Output types come from infer; an op whose
// output shape depends on data gets the largest shape and writes the actual one to outputs[i].type.
struct ReferenceCall {
  const Op& op;
  std::span<const TensorView> inputs;
  std::span<MutableTensorView> outputs;  // no data: not wanted
  Scratch& scratch;
  StringPool& strings;
  const Stop* stop = nullptr;  // asked by long loops: see StopCheck

  template <class T>
  const T& as() const {
    return *op.as<T>();
  }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present(); }
  bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].present(); }
};

// The plainest correct loop: the oracle of the tests, the evaluator of constant folding and the end
// of every list of implementations. Allocates nothing unless it fails or creates strings.
using ReferenceFn = Status (*)(const ReferenceCall&);
using ScratchFn = std::size_t (*)(const Op&, std::span<const TensorType> inputs,
                                  std::span<const TensorType> outputs);

struct OpReference {
  ReferenceFn run = nullptr;  // null: a structural operator, resolved by planning
  ScratchFn scratch = nullptr;
};
class CustomOps;  // <quern/custom_ops.h>

// Kept by every Graph.
struct OpSet {
  const OpReference& (*reference_of)(const OpDef& def);
  // The operators of the host, for models and texts that name them; null: none.
  std::shared_ptr<const CustomOps> custom = nullptr;
};
// The references of all operators. Defined in kernels/, which callers must link.
OpSet builtin_ops(std::shared_ptr<const CustomOps> custom = nullptr);

}  // namespace quern
