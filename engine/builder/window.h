// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

#include "engine/builder/options.h"
#include "graph/ops/window.h"

namespace quern {

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
