// SPDX-License-Identifier: Apache-2.0
#include "tests/expect.h"

#include <cstdlib>
#include <filesystem>

namespace quern::testing {

::testing::AssertionResult contains(const char* text_name, const char* part_name,
                                    std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << text_name << " is\n  \"" << text << "\"\nand does not contain " << part_name
         << ",\n  \"" << part << '"';
}

void expect_passes_with(const std::string& variables, const std::string& test) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const char* emulator = std::getenv("QUERN_EMULATOR");  // what starts programs for another CPU
  const std::string command = variables + " " + (emulator ? emulator : "") + " '" + self +
                              "' --gtest_brief=1 --gtest_filter=" + test;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace quern::testing
