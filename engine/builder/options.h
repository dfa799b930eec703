// SPDX-License-Identifier: Apache-2.0
// Options of GraphBuilder's methods as attributes of operators.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "engine/builder/graph_builder_impl.h"
#include "engine/vocabulary/text_util.h"
#include "graph/ops/window.h"

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

// The window of a convolution or a pool, from the fields that `Options` has.
template <class Options>
Window window_of(GraphBuilder::Impl& g, std::string_view operation, const Options& o,
                 IntList kernel = {}) {
  Window w{.kernel = std::move(kernel), .strides = o.strides, .pads = o.pads};
  if constexpr (requires { o.dilations; }) w.dilations = o.dilations;
  if constexpr (requires { o.auto_pad; })
    w.auto_pad = enumerator<AutoPad>(g, operation, o.auto_pad);
  return w;
}

}  // namespace quern
