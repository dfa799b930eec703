// SPDX-License-Identifier: Apache-2.0
// com.microsoft: sequences of tokens and of words, and paths through costs. The data are made here
// where they decide a shape.
#include <algorithm>
#include <array>
#include <limits>

#include "tools/random/families.h"
#include "tools/random/fill.h"

namespace quern::tools {
namespace {

constexpr std::string_view sequence_domain = "com.microsoft";

// Of few tokens, so that runs of them come again.
bool refused_runs(Builder& b) {
  const Extent rows = fixed(b.rng.between(1, 3)), length = b.random_extent();
  const Extent vocabulary = fixed(b.rng.between(2, 5));
  if (!b.fits({rows, length}) || !b.fits({rows, vocabulary})) return false;
  const DrawnValue tokens = b.indices(DType::i64, {rows, length}, fixed(0), vocabulary);
  const DrawnValue scores = b.take_like(DType::f32, {rows, vocabulary});
  b.add_of(sequence_domain, "NGramRepeatBlock", {tokens, scores},
           {Builder::integer("ngram_size", b.rng.between(1, 4))},
           {DType::f32, scores.dims, std::numeric_limits<double>::infinity(), false});
  return true;
}

constexpr std::array contrib_sequence_table = {
    Family{"contrib-refused-runs", 0.2, refused_runs},
};

}  // namespace

std::span<const Family> contrib_sequence_families() {
  return contrib_sequence_table;
}

}  // namespace quern::tools
