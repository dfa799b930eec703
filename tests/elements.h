// SPDX-License-Identifier: Apache-2.0
// EXPECT_ELEMENTS(values<float>(y), 1, 2.5, 3): a list holds exactly these. As ElementsAre, without
// the matchers, of which every length and mixture of types is built anew: a third of what the tests
// of kernels took to compile. Where an element is a matcher, or of a type that the list does not
// take as it stands, ElementsAre it is.
#pragma once

#include <type_traits>

#include <gtest/gtest.h>

#define EXPECT_ELEMENTS(found, ...) EXPECT_EQ(found, (std::decay_t<decltype(found)>{__VA_ARGS__}))
