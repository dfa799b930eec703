// SPDX-License-Identifier: Apache-2.0
// Operators of the host (quern/c/custom_op.h), which only a registry knows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <quern/status.h>

#include "graph/op.h"

namespace quern {

class CustomOps;      // <quern/custom_ops.h>
class BoundOperator;  // graph/custom/bound.h: a registered operator with a node's attributes

// What both structs below hold. `bound` is no attribute: the text form has none, and a registry
// sets it again where a text is read.
struct CustomCall {
  std::string domain;
  std::string name;
  std::int64_t opset = 1;               // of the domain
  std::vector<std::string> attributes;  // "name=i:3": see graph/custom/attributes.h
  std::shared_ptr<const BoundOperator> bound;

  template <class S, class F>
  static void fields(S& s, F&& f) {
    f("domain", s.domain);
    f("name", s.name);
    f("opset", s.opset);
    f("attributes", s.attributes);
  }
  // "org.example.Swirl"
  std::string full_name() const;
  bool operator==(const CustomCall& other) const;
};

// An operator of which equal inputs give equal outputs.
struct Custom : CustomCall {
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const Custom&) const = default;
};

// Any other.
struct CustomRandom : CustomCall {
  static const OpDef& def();
  static const OpKernels& kernels();
  bool operator==(const CustomRandom&) const = default;
};

// Null for an operator of the engine.
const CustomCall* custom_call(const Op& op);
// Gives `op` what the registry (it may be null) has for its domain, name and opset; operators of
// the engine stay as they are. Errors: unsupported, where nothing is registered; invalid_argument,
// for attributes that the operator does not know.
Status bind_custom(Op& op, const CustomOps* registry);

using CustomOpList = OpList<Custom, CustomRandom>;

}  // namespace quern
