// SPDX-License-Identifier: Apache-2.0
#include "graph/op.h"

#include "graph/op_fields.h"
#include "graph/ops/reshape.h"

namespace quern {

// Containers of nodes make many of them that are written over at once.
Op::Op() : def_(&Identity::def()) {
  static const auto identity = std::make_shared<const Identity>();
  attributes_ = identity;
}

bool Op::operator==(const Op& other) const {
  return def_ == other.def_ && (attributes_ == other.attributes_ ||
                                def_->attributes->equal(attributes(), other.attributes()));
}

}  // namespace quern
