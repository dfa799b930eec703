// SPDX-License-Identifier: Apache-2.0
// Files beside these tests.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "frontends/language/json.h"

namespace quern::language {

inline std::string text_of(const std::string& name) {
  const std::string path = QUERN_SOURCE_DIR "/tests/language/" + name;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << path;
  return text.str();
}

inline JsonDocument vectors_of(const std::string& name) {
  auto document = JsonDocument::parse(text_of(name));
  EXPECT_TRUE(document.has_value()) << name << ": " << document.error().message();
  return std::move(document).value();
}

}  // namespace quern::language
