// SPDX-License-Identifier: Apache-2.0
// Lines of convolutions and products, whose sizes have letters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/kernel/problem.h"

namespace quern::tools::lab {

// The sizes and the words behind them, without post-ops. Errors: invalid_argument.
Result<Problem> parse_conv(std::string_view sizes, std::span<const std::string> words);
Result<Problem> parse_matmul(std::string_view sizes, std::span<const std::string> words);

}  // namespace quern::tools::lab
