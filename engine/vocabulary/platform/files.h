// SPDX-License-Identifier: Apache-2.0
// Files of the operating system. Names are in the encoding of its calls for narrow strings.
//
// Where a call fails, errno says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace quern::platform {

// A file or folder that is open, closed with its owner.
class File {
 public:
  // A number of the system's, below which no file is.
  using Handle = std::intptr_t;

  explicit File(Handle handle = none) : handle_(handle) {}
  File(File&& other) noexcept : handle_(std::exchange(other.handle_, none)) {}
  File& operator=(File&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~File();
  Handle get() const { return handle_; }
  bool is_open() const { return handle_ != none; }

 private:
  static constexpr Handle none = -1;
  Handle handle_;
};

struct FileInfo {
  enum class Kind : std::uint8_t { regular, folder, other };

  Kind kind = Kind::other;
  std::uint64_t size = 0;
  unsigned permissions = 0666;  // as POSIX counts them
};

std::optional<FileInfo> info_of(const File& file);
std::optional<FileInfo> info_of(const std::string& path);  // of what a link points at
bool may_write(const std::string& path);

// Opens to read. Does not wait, if the name is a pipe's.
File open_file(const std::string& path);
File open_folder(const std::string& path);
// Opens to read what has this name in a folder. The name is one component and no link: a link is
// ELOOP, and what is no folder ENOTDIR where one is wanted.
File open_in(const File& folder, const std::string& name, FileInfo::Kind wanted);

// Reads at an offset; returns the number of bytes, 0 at the end, -1 where it fails.
std::ptrdiff_t read_at(const File& file, std::uint64_t offset, void* to, std::size_t bytes);

// What to do with a file of this name that exists already, when it is opened to be written.
enum class Existing : std::uint8_t { error, emptied, kept };
// Writes the pieces one after the other to a file, which is made if it does not exist, and then has
// these permissions. Returns 0 or what is to be found in errno elsewhere.
int write_file(const std::string& path, Existing existing, unsigned permissions,
               std::span<const std::string_view> pieces);
// Gives a file the name of another, which is gone then; they are in one folder. 0, or an errno.
int replace_file(const std::string& fresh, const std::string& old);
void remove_file(const std::string& path) noexcept;
// Makes the folder, and those above it, where they are missing. Whoever writes there learns what
// failed.
void make_folders(const std::string& path);
// The folder of this user for what programs keep to be faster the next time; empty: there is none.
std::string cache_folder();

// As long as it lives, a file is removed when the process is told to end (SIGINT, SIGTERM, SIGHUP)
// and would end of that. One at a time in a process.
class RemovedOnSignal {
 public:
  static constexpr std::size_t longest_path = 4095;

  explicit RemovedOnSignal(const std::string& path);  // at most longest_path bytes
  ~RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;
};

}  // namespace quern::platform
