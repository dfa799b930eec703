// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/all.h"

#include <array>

#include "graph/built_for.h"
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

std::string_view built_for() {
#ifdef QUERN_ONLY_MODELS
  return "; this build has the operators and types of " QUERN_ONLY_MODELS " (QUERN_OPS_FROM)";
#else
  return "";
#endif
}

const OpDef* find_op_def(std::string_view name) {
  const auto known = all_ops();
  const auto def = std::ranges::find(known, name, &OpDef::name);
  return def == known.end() ? nullptr : *def;
}

}  // namespace quern
