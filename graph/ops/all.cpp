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

const OpDef* find_op_def(std::string_view name) {
  const auto known = all_ops();
  const auto def = std::ranges::find(known, name, &OpDef::name);
  return def == known.end() ? nullptr : *def;
}

}  // namespace quern
