// SPDX-License-Identifier: Apache-2.0
// The groups of families that families() joins, each in a file of its own, and the tables that they
// are written as.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tests/tools/oracle/families.h"

namespace quern::testing {

// In the order in which families() lists them.
std::vector<Family> elementwise_families();
std::vector<Family> product_families();
std::vector<Family> reduction_families();
std::vector<Family> layer_families();
std::vector<Family> sampling_families();
std::vector<Family> type_families();
std::vector<Family> graph_families();

// A family as a constant: gtest asks for families before main(), when what other files initialise
// may not be there yet.
struct FamilyRow {
  std::string_view name;
  std::string_view graph;
  Draw draw;
  double least_ratio;
};
std::vector<Family> families_of(std::span<const FamilyRow> rows);

// One kind of an operator whose kinds share a graph.
struct KindRow {
  std::string_view kind;  // and its attributes: "elu alpha=1.3"
  Draw draw;
  double least_ratio;
};
// The kind stands in `graph` where that has a $. Names are `prefix` and the kind.
std::vector<Family> families_of_kinds(std::string_view prefix, std::string_view graph,
                                      std::span<const KindRow> rows);

std::vector<Family> joined(std::vector<std::vector<Family>> groups);

}  // namespace quern::testing
