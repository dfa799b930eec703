// SPDX-License-Identifier: Apache-2.0
// The confinement of external data to the folder of its model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <quern/status.h>

#include "graph/opened_file.h"

namespace quern::onnx {

// The folder that `path` names a file in, or ".".
std::string folder_of(const std::string& path);

// Opens files below one folder by names that a model gives. Absolute names, `..`, symbolic links
// and anything that is no regular file are refused; no component of a path can leave the folder.
class ConfinedFolder {
 public:
  // An empty folder refuses every name.
  explicit ConfinedFolder(std::string folder, FileBytes how = FileBytes::mapped)
      : folder_(std::move(folder)), how_(how) {}

  // Opens the file once; later calls return the same bytes.
  Result<OpenedFile> open(std::string_view location);
  // Bytes of all files opened so far.
  std::size_t opened_bytes() const { return opened_bytes_; }

 private:
  std::string folder_;
  FileBytes how_;
  std::map<std::string, OpenedFile, std::less<>> files_;
  std::size_t opened_bytes_ = 0;
};

}  // namespace quern::onnx
