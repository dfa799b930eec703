// SPDX-License-Identifier: Apache-2.0
// The name that somebody may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace quern::tools {

// "; did you mean 'X'?" with the name that `word` becomes by the fewest changes of a letter, at
// most a third of its letters; "" where there is none. A change leaves a letter out, puts one in,
// takes another, or swaps two that stand beside each other. Of a word of more than 64 bytes nothing
// is guessed.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);

}  // namespace quern::tools
