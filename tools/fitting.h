// SPDX-License-Identifier: Apache-2.0
// What the nodes that read an input accept as its elements: token numbers within a table, sizes,
// axes. Generated inputs keep to it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace quern::tools {

// The elements of an input that its readers accept.
struct Fit {
  // reshape: one size is free, -1, and all others are 1. listed: the keys of a table. counting: 0,
  // 1, 2 and so on, as axes that must differ. parts: as equal as they can be, `high` in all.
  enum class Form : std::uint8_t { range, reshape, listed, counting, parts };

  Form form = Form::range;
  std::int64_t low = 0, high = 0;  // of a range, both included; of parts
  Tensor keys = {};                // of a list: at least one

  bool operator==(const Fit& o) const {
    return form == o.form && low == o.low && high == o.high && keys.data() == o.keys.data();
  }
};
struct Fits {
  // By input of the model; nothing: any element will do, or nobody says.
  std::vector<std::optional<Fit>> elements;
  // Sizes that free dimensions must have at least, by name: constants index them.
  std::map<std::string, std::int64_t> least_dims;

  std::optional<Fit> of(std::size_t input) const {
    return input < elements.size() ? elements[input] : std::nullopt;
  }
};

// Follows each input of numbers or strings to the nodes that read it, through nodes that only move
// or cast its elements or add a constant, and into bodies. Where several readers limit it, all are
// content. Looks at no more than `most_uses` uses in all.
Fits fits_of(const Graph& graph, std::size_t most_uses = 1'000'000);

}  // namespace quern::tools
