// SPDX-License-Identifier: Apache-2.0
// A small model of one family of operators, by a name.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "tests/engine/engine_models.h"

namespace quern::testing {

struct Family {
  std::string_view name;
  std::function<void(GraphBuilder&)> build;

  Model make() const {
    GraphBuilder g{std::string(name)};
    build(g);
    return must(g.build(), "build");
  }
};

inline Operand floats(GraphBuilder& g, std::string_view name, const Shape& shape) {
  return g.input(std::string(name), DType::f32,
                 std::vector<quern::Dimension>(shape.begin(), shape.end()));
}

}  // namespace quern::testing
