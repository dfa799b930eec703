// SPDX-License-Identifier: Apache-2.0
// What CustomOps holds.
#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <quern/custom_ops.h>

#include "graph/custom/bound.h"

namespace quern {

struct CustomOps::Impl {
  // The operator of this domain ("" is ai.onnx), name and opset; null if there is none.
  std::shared_ptr<const RegisteredOperator> find(std::string_view domain, std::string_view name,
                                                 std::int64_t opset) const;
  // "2 to 5, 9 or later"; "" where the name is not registered.
  std::string opsets_of(std::string_view domain, std::string_view name) const;
  // Adds all of them or none, and owns them then.
  Status add(const std::vector<std::shared_ptr<RegisteredOperator>>& made);

  mutable std::mutex mutex;
  std::vector<std::shared_ptr<const RegisteredOperator>> operators;
};

}  // namespace quern
