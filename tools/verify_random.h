// SPDX-License-Identifier: Apache-2.0
// quern verify --random: random models in several ways, each in a process of its own.
#pragma once

#include "tools/verbs.h"

namespace quern::tools {

Result<ExitCode> verify_random(const VerifyArgs& args, const Console& console);

}  // namespace quern::tools
