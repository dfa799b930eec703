// SPDX-License-Identifier: Apache-2.0
// What the parser makes of each operator: the graphs of the smallest random models that have it.
// Devices share the parser, so that comparing them says nothing of what it made.
//
// Where a difference is wanted, write the texts anew, and commit them:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R Imports
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <quern/model.h>
#include <quern/onnx.h>

#include "engine/vocabulary/text_util.h"
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

// FNV-1a.
void add_to(std::uint32_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619U;
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
  std::map<std::string, std::uint32_t> hashes;
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
      if (!is_new) add_to(hashes[op], text);
    }
    if (is_new) found[name] = text;
  }
  for (const auto& [op, hash] : hashes)
    found[cat("others of ", op)] = cat(seen[op], " models, ", hash, "\n");
  return found;
}

TEST(Imports, AreAsTheyWere) {
  const std::string path = QUERN_SOURCE_DIR "/tests/tools/random/imports.txt";
  const auto found = texts();
  if (std::getenv("QUERN_WRITE_TEXTS")) {
    std::ofstream file(path);
    for (const auto& [name, text] : found) file << "== " << name << '\n' << text;
  }
  std::map<std::string, std::string> wanted;
  std::ifstream file(path);
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== "))
      name = line.substr(3);
    else
      wanted[name] += line + '\n';
  }
  EXPECT_EQ(found.size(), wanted.size());
  for (const auto& [model, text] : found) EXPECT_EQ(text, wanted[model]) << model;
}

}  // namespace
}  // namespace quern::tools
