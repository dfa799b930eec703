// SPDX-License-Identifier: Apache-2.0
#include "tools/closest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

// The optimal string alignment distance, row by row.
std::size_t changes_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t k = 1; k <= b.size(); ++k) {
      const std::size_t other = a[i - 1] == b[k - 1] ? 0 : 1;
      row[k] = std::min({last[k] + 1, row[k - 1] + 1, last[k - 1] + other});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        row[k] = std::min(row[k], before_last[k - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t longest = 64;
  if (word.size() > longest) return "";
  std::string_view best;
  std::size_t fewest = word.size() / 3 + 1;
  for (const std::string_view name : names) {
    if (name.size() > longest) continue;
    const std::size_t changes = changes_between(word, name);
    if (changes >= fewest) continue;
    fewest = changes;
    best = name;
  }
  return best.empty() ? "" : cat("; did you mean '", best, "'?");
}

}  // namespace quern::tools
