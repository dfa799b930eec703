// SPDX-License-Identifier: Apache-2.0
// JSON values over pipes: their length in eight bytes, then their text.
#pragma once

#include <chrono>

#include <quern/status.h>

#include "tools/json.h"

namespace quern::bench {

// Errors: busy, when the other side is gone or says nothing for too long.
Status send_message(int descriptor, const tools::Json& message);
Result<tools::Json> receive_message(int descriptor, std::chrono::milliseconds patience);

}  // namespace quern::bench
