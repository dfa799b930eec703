// SPDX-License-Identifier: Apache-2.0
#include "tests/held_texts.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace quern::testing {
namespace {

template <class T>
void expect_same(const std::map<std::string, T>& found, std::map<std::string, T> wanted) {
  for (const auto& [name, value] : found) {
    EXPECT_EQ(value, wanted[name]) << name;
    wanted.erase(name);
  }
  for (const auto& [name, value] : wanted) ADD_FAILURE() << "no more: " << name << ' ' << value;
}

}  // namespace

void StableHash::add(std::string_view text) {
  for (const char c : text) value_ = (value_ ^ static_cast<std::uint8_t>(c)) * 16777619U;
}

void StableHash::add(std::uint64_t number) {
  for (int i = 0; i < 8; ++i, number >>= 8) value_ = (value_ ^ (number & 0xff)) * 16777619U;
}

std::uint32_t stable_hash(std::string_view text) {
  StableHash hash;
  hash.add(text);
  return hash.value();
}

bool writes_texts() {
  return std::getenv("QUERN_WRITE_TEXTS") != nullptr;
}

void expect_held(const std::map<std::string, std::uint32_t>& found, const std::string& path) {
  if (writes_texts()) {
    std::ofstream file(path);
    for (const auto& [name, number] : found) file << number << ' ' << name << '\n';
  }
  std::map<std::string, std::uint32_t> wanted;
  std::ifstream file(path);
  std::uint32_t number = 0;
  for (std::string line; file >> number && std::getline(file, line);)
    wanted[line.substr(1)] = number;
  expect_same(found, std::move(wanted));
}

void expect_held(const std::map<std::string, std::string>& found, const std::string& path) {
  if (writes_texts()) {
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
  expect_same(found, std::move(wanted));
}

}  // namespace quern::testing
