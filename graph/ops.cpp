// SPDX-License-Identifier: Apache-2.0
#include "graph/ops.h"

namespace quern {

Op::Op() = default;
Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

bool Op::operator==(const Op& other) const {
  return static_cast<const OpVariant&>(*this) == static_cast<const OpVariant&>(other);
}

}  // namespace quern
