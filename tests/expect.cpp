// SPDX-License-Identifier: Apache-2.0
#include "tests/expect.h"

namespace quern::testing {

::testing::AssertionResult contains(const char* text_name, const char* part_name,
                                    std::string_view text, std::string_view part) {
  if (text.find(part) != std::string_view::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << text_name << " is\n  \"" << text << "\"\nand does not contain " << part_name
         << ",\n  \"" << part << '"';
}

}  // namespace quern::testing
