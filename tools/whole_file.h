// SPDX-License-Identifier: Apache-2.0
// Files that a command writes.
#pragma once

#include <string>
#include <string_view>

#include <quern/status.h>

#include "engine/vocabulary/whole_file.h"

namespace quern::tools {

// The whole file or none, whatever happens: an error, SIGINT, SIGTERM or SIGHUP. One thread at a
// time. Errors: invalid_argument, with the system's reason.
inline Status write_whole_file(const std::string& path, std::string_view bytes) {
  return quern::write_whole_file(path, {&bytes, 1}, OnSignal::removes);
}

}  // namespace quern::tools
