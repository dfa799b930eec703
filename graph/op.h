// SPDX-License-Identifier: Apache-2.0
// An operator with its attributes; every node of a graph holds one.
//
// A struct of graph/ops/ holds the attributes of one operator and names them once, in `fields`: the
// text form, comparison, hashing, inspection and the C++ builder all use that list. Op hides which
// struct it holds, so that a change to one struct recompiles only the files that use it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace quern {

struct OpDef;      // graph/op_def.h: what the graph knows about an operator
struct OpKernels;  // kernels/contract/kernel.h: how it is computed

using Ints = std::vector<std::int64_t>;

// A struct of attributes. `def` is defined in graph/ops, `kernels` in kernels/; a missing one is a
// link error that names it.
template <class T>
concept OpAttributes = std::equality_comparable<T> && requires {
  { T::def() } -> std::same_as<const OpDef&>;
  { T::kernels() } -> std::same_as<const OpKernels&>;
};

// The operators of a family, as a type list.
template <class... T>
struct OpList {};

// Immutable; copies share the attributes, which several threads may read.
class Op {
 public:
  Op();  // an Identity
  template <OpAttributes T>
  Op(T attributes)  // every struct of attributes is an Op
      : def_(&T::def()), attributes_(std::make_shared<const T>(std::move(attributes))) {}
  Op(const OpDef& def, std::shared_ptr<const void> attributes)
      : def_(&def), attributes_(std::move(attributes)) {}

  const OpDef& def() const { return *def_; }
  const void* attributes() const { return attributes_.get(); }
  template <OpAttributes T>
  bool is() const {
    return def_ == &T::def();
  }
  // Null if it is another operator.
  template <OpAttributes T>
  const T* as() const {
    return is<T>() ? static_cast<const T*>(attributes_.get()) : nullptr;
  }
  // True if it is one of these operators.
  template <OpAttributes... T>
  bool is_any_of() const {
    return (is<T>() || ...);
  }

  bool operator==(const Op& other) const;

 private:
  const OpDef* def_;
  std::shared_ptr<const void> attributes_;
};

}  // namespace quern
