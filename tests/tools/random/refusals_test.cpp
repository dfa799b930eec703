// SPDX-License-Identifier: Apache-2.0
// Small random models with a change or two that a reader of the format would make, and what reading
// and compiling say of them: how often each sentence, without its names and numbers. A check that
// is gone, or that refuses what it should not, changes the counts.
//
// Where a difference is wanted, write the list anew, and commit it:
//   QUERN_WRITE_TEXTS=1 ctest --test-dir build/release -R Refusals
#include <cstdint>
#include <map>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include <quern/device.h>
#include <quern/executable.h>
#include <quern/onnx.h>

#include "engine/vocabulary/text_util.h"
#include "frontends/onnx-parser/write.h"
#include "tests/fuzz/onnx_mutator.h"
#include "tests/held_texts.h"
#include "tools/random/random_model.h"

namespace quern::tools {
namespace {

using Counts = std::map<std::string, std::uint32_t>;  // by code and sentence

constexpr std::uint64_t models = 1500;
constexpr std::uint64_t mutants_of_each = 12;

// Without what stands between quotes, with one # for each number, and T for each type.
std::string without_names(std::string_view message) {
  std::string s;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    if (c == '\'') {
      const std::size_t end = message.find('\'', i + 1);
      s += "''";
      i = end == message.npos ? message.size() : end;
    } else if (c >= '0' && c <= '9') {
      if (s.ends_with('-')) s.pop_back();
      if (s.ends_with("#,")) s.pop_back();
      if (!s.ends_with('#')) s += '#';
    } else if (c != '$' && c != '?') {
      s += c;
    }
  }
  static const std::regex type(R"((seq\(|opt\()*([a-z]+#\w*|bool|string)\[[^\]]*\]\)*)");
  return std::regex_replace(s, type, "T");
}

void count(const std::string& bytes, Counts& counts) {
  std::vector<std::string> problems;
  Result<Model> model =
      parse_onnx(std::as_bytes(std::span(bytes)), nullptr, {}, {.problems = &problems});
  if (!model) {
    if (problems.empty()) problems.emplace_back(model.error().message());
    const std::string code(code_name(model.error().code()));
    for (const std::string& p : problems) ++counts[cat(code, " ", without_names(p))];
    return;
  }
  const auto executable = Executable::compile(*std::move(model), *open_device("reference"),
                                              {.threads = 1, .memory_limit = 16 << 20});
  if (executable)
    ++counts["taken"];
  else
    ++counts[cat(code_name(executable.error().code()), " ",
                 without_names(executable.error().message()))];
}

Counts counted() {
  Counts counts;
  for (std::uint64_t seed = 0; seed < models; ++seed) {
    const RandomModel random =
        make_random_model({.seed = 7'000'000 + seed, .min_nodes = 3, .max_nodes = 8});
    const std::string bytes = onnx::write_model(random.model);
    for (std::uint64_t k = 0; k < mutants_of_each; ++k) {
      std::string mutant = fuzz::mutate_model(bytes, mutants_of_each * seed + k);
      if (k % 3 == 0) mutant = fuzz::mutate_model(mutant, k);
      count(mutant, counts);
    }
  }
  return counts;
}

TEST(Refusals, AreThoseThatTheyWere) {
  testing::expect_held(counted(), QUERN_SOURCE_DIR "/tests/tools/random/refusals.txt");
}

TEST(Refusals, AreComparedWithoutNamesAndNumbers) {
  EXPECT_EQ(without_names("node 'a b' (Add): f32[2,$0,-13] and f32[?,4], wants 0.5"),
            "node '' (Add): T and T, wants #.#");
  EXPECT_EQ(without_names("seq(bf16[2]), opt(seq(bool[*])) and perm [0,2]"), "T, T and perm [#]");
}

}  // namespace
}  // namespace quern::tools
