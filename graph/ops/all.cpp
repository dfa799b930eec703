// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/all.h"

#include <array>

#include "graph/op_def.h"

namespace quern {
namespace {

template <class... T>
std::array<const OpDef*, sizeof...(T)> table(OpList<T...>) {
  return {&T::def()...};
}

}  // namespace

std::span<const OpDef* const> all_ops() {
  static const auto ops = table(AllOps());
  return ops;
}

}  // namespace quern
