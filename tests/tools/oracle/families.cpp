// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/oracle/families.h"

#include <utility>

#include "tests/tools/oracle/family_groups.h"

namespace quern::testing {

std::vector<Family> families_of(std::span<const FamilyRow> rows) {
  std::vector<Family> families;
  for (const FamilyRow& row : rows)
    families.push_back({std::string(row.name), std::string(row.graph), row.draw, row.least_ratio});
  return families;
}

std::vector<Family> families_of_kinds(std::string_view prefix, std::string_view graph,
                                      std::span<const KindRow> rows) {
  const std::size_t place = graph.find('$');
  std::vector<Family> families;
  for (const KindRow& row : rows) {
    std::string name(prefix);
    name.append(" ").append(row.kind.substr(0, row.kind.find(' ')));
    std::string text(graph);
    text.replace(place, 1, row.kind);
    families.push_back({std::move(name), std::move(text), row.draw, row.least_ratio});
  }
  return families;
}

std::vector<Family> joined(std::vector<std::vector<Family>> groups) {
  std::vector<Family> all;
  for (std::vector<Family>& group : groups)
    for (Family& family : group) all.push_back(std::move(family));
  return all;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all =
      joined({elementwise_families(), product_families(), reduction_families(), layer_families(),
              sampling_families(), type_families(), graph_families()});
  return all;
}

}  // namespace quern::testing
