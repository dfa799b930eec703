// SPDX-License-Identifier: Apache-2.0
// Expectations that are quick to build. gmock's matchers say the same of lists and texts, but every
// length and mixture of types is built anew: a third of what the tests took to compile.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>

// EXPECT_ELEMENTS(values<float>(y), 1, 2.5, 3): a list holds exactly these. Where an element is a
// matcher, or of a type that the list does not take as it stands, ElementsAre it is.
#define EXPECT_ELEMENTS(found, ...) EXPECT_EQ(found, (std::decay_t<decltype(found)>{__VA_ARGS__}))

// EXPECT_CONTAINS(message, "wanted 2"): a text has this part.
#define EXPECT_CONTAINS(text, part) EXPECT_PRED_FORMAT2(::quern::testing::contains, text, part)

namespace quern::testing {

// The names are the expressions' own texts.
::testing::AssertionResult contains(const char* text_name, const char* part_name,
                                    std::string_view text, std::string_view part);

// A test of this program passes in a process that has these variables ("A=1 B=2") besides.
void expect_passes_with(const std::string& variables, const std::string& test);

}  // namespace quern::testing
