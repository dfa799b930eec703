// SPDX-License-Identifier: Apache-2.0
// Files that appear when they are whole, or not at all.
#pragma once

#include <string>
#include <string_view>

#include <quern/status.h>

namespace quern::tools {

// Writes beside `path` and renames, so that neither an error nor SIGINT, SIGTERM or SIGHUP leaves
// half a file or takes an old one away. Written where they stand: what is no regular file (a
// terminal, a pipe), and an old file in a folder that takes no new one. One thread at a time.
// Errors: invalid_argument, with the system's reason.
Status write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace quern::tools
