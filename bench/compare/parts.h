// SPDX-License-Identifier: Apache-2.0
// Outputs that are no tensors, as tensors with names that all engines give alike: those of sequence
// `y` are `y[0]`, `y[1]`...; those of map `y` are `y.keys` and `y`, in the order of the keys, since
// a map has none of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/compare/engine.h"

namespace quern::bench {

// Of the keys of a map that is an input or output of quern.
std::string keys_name(const std::string& map);
std::string part_name(const std::string& whole, std::size_t part);

// Appends keys and values, [n] both, in the order of the keys.
Status append_map(const Tensor& keys, const Tensor& values, const std::string& name,
                  std::vector<NamedTensor>& to);

}  // namespace quern::bench
