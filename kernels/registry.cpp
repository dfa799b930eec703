// SPDX-License-Identifier: Apache-2.0
// The linker is the registry: a family without its file is an undefined T::def() here.
#include <array>
#include <type_traits>

#include "kernels/kernel.h"

namespace quern {
namespace {

template <class... Ops>
std::array<const OpDef*, sizeof...(Ops)> table(std::type_identity<std::variant<Ops...>>) {
  return {&Ops::def()...};
}

}  // namespace

OpSet builtin_ops() {
  static const auto ops = table(std::type_identity<OpVariant>{});
  return ops;
}

}  // namespace quern
