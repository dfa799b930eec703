// SPDX-License-Identifier: Apache-2.0
// Results that are held to what they were when last looked at, in files beside the tests; where the
// environment has QUERN_WRITE_TEXTS, the files are written anew (CONTRIBUTING.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace quern::testing {

// FNV-1a: the same on every machine.
class StableHash {
 public:
  void add(std::string_view text);
  void add(std::uint64_t number);  // its eight bytes
  std::uint32_t value() const { return value_; }

 private:
  std::uint32_t value_ = 2166136261U;
};
std::uint32_t stable_hash(std::string_view text);

bool writes_texts();

// Expects these numbers in the file, a line "NUMBER NAME" each, and no others.
void expect_held(const std::map<std::string, std::uint32_t>& found, const std::string& path);
// Expects these texts in the file, each of whole lines behind a line "== NAME", and no others.
void expect_held(const std::map<std::string, std::string>& found, const std::string& path);

}  // namespace quern::testing
