// SPDX-License-Identifier: Apache-2.0
// Options of GraphBuilder's methods as attributes of operators.
#pragma once

#include <string>
#include <string_view>

#include "engine/builder/graph_builder_impl.h"
#include "engine/vocabulary/text_util.h"

namespace quern {

// Returns the enumerator of this name. If there is none, `operation` fails with an error that lists
// all names.
template <class E>
E enumerator(GraphBuilder::Impl& g, std::string_view operation, std::string_view name) {
  const auto names = enum_names(E());
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<E>(i);
    all += cat(i ? ", " : "", names[i]);
  }
  g.fail(operation, cat("no '", printable(name), "'; there is: ", all));
  return E();
}

}  // namespace quern
