// SPDX-License-Identifier: Apache-2.0
// Files as read-only mappings, and the confinement of external data to the folder of its model.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <quern/status.h>

namespace quern::onnx {

// A mapped regular file; `owner` keeps the mapping. The file must not shrink while it is mapped.
struct MappedFile {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

Result<MappedFile> map_file(const std::string& path);
// The part of `path` before its last '/', or ".".
std::string folder_of(const std::string& path);

// Opens files below one folder by names that a model gives. Absolute names, `..`, symbolic links
// and anything that is no regular file are refused; no component of a path can leave the folder.
class ConfinedFolder {
 public:
  // An empty folder refuses every name.
  explicit ConfinedFolder(std::string folder) : folder_(std::move(folder)) {}

  // Maps the file once; later calls return the same mapping.
  Result<MappedFile> map(std::string_view location);
  // Bytes of all files mapped so far.
  std::size_t mapped_bytes() const { return mapped_bytes_; }

 private:
  std::string folder_;
  std::map<std::string, MappedFile, std::less<>> files_;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace quern::onnx
