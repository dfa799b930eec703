// SPDX-License-Identifier: Apache-2.0
// What the parser makes of each operator: the graphs of the smallest random models that have it.
// Devices share the parser, so that comparing them says nothing of what it made.
//
// Where a difference is wanted, write the texts anew, and commit them:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R Imports
#include <algorithm>
#include <map>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include <quern/model.h>
#include <quern/onnx.h>

#include "engine/vocabulary/text_util.h"
#include "tests/held_texts.h"
#include "tools/random/random_model.h"

namespace quern::tools {
namespace {

constexpr std::uint64_t seeds = 12'000;
constexpr int most_of_an_operator = 2;

void count_operators(const onnx::GraphProto& graph, std::map<std::string, int>& counts) {
  for (const onnx::NodeProto& node : graph.nodes) {
    ++counts[node.domain.empty() ? std::string(node.op_type) : cat(node.domain, ".", node.op_type)];
    for (const onnx::AttributeProto& a : node.attributes)
      for (const onnx::GraphProto& body : a.g) count_operators(body, counts);
  }
}

std::string import_text(const RandomModel& random) {
  const std::string bytes = onnx::write_model(random.model);
  const auto model = parse_onnx(std::as_bytes(std::span(bytes)), nullptr);
  return model ? model->text(4) : cat("refused: ", model.error().message(), "\n");
}

// The text of each model that was chosen, by its seed and operators; of the other models of an
// operator one hash of their texts.
std::map<std::string, std::string> texts() {
  std::map<std::string, int> seen;
  std::map<std::string, std::string> found;
  std::map<std::string, testing::StableHash> hashes;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const RandomModel random = make_random_model({.seed = seed, .min_nodes = 1, .max_nodes = 1});
    std::map<std::string, int> here;
    count_operators(random.graph(), here);
    const std::string text = import_text(random);
    const bool is_new = std::ranges::any_of(
        here, [&](const auto& entry) { return seen[entry.first] < most_of_an_operator; });
    std::string name = cat(seed, ":");
    for (const auto& [op, n] : here) {
      ++seen[op];
      name += cat(" ", op);
      if (!is_new) hashes[op].add(text);
    }
    if (is_new) found[name] = text;
  }
  for (const auto& [op, hash] : hashes)
    found[cat("others of ", op)] = cat(seen[op], " models, ", hash.value(), "\n");
  return found;
}

TEST(Imports, AreAsTheyWere) {
  testing::expect_held(texts(), QUERN_SOURCE_DIR "/tests/tools/random/imports.txt");
}

}  // namespace
}  // namespace quern::tools
