// SPDX-License-Identifier: Apache-2.0
// The linker is the registry: an operator without kernels leaves T::kernels() undefined here.
#include <memory>
#include <unordered_map>
#include <utility>

#include "graph/ops/all.h"
#include "kernels/contract/kernel.h"

namespace quern {
namespace {

template <class... T>
std::unordered_map<const OpDef*, const OpKernels*> table(OpList<T...>) {
  return {{&T::def(), &T::kernels()}...};
}

}  // namespace

const OpKernels& kernels_of(const OpDef& def) {
  static const auto kernels = table(OpsWithKernels());
  static constexpr OpKernels none = {};  // of a build for other models (graph/built.h)
  const auto found = kernels.find(&def);
  return found == kernels.end() ? none : *found->second;
}

OpSet builtin_ops(std::shared_ptr<const CustomOps> custom) {
  return {[](const OpDef& def) -> const OpReference& { return kernels_of(def).reference; },
          std::move(custom)};
}

}  // namespace quern
