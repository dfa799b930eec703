// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx-parser/file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "engine/vocabulary/text_util.h"
#include "graph/file_pages.h"

namespace quern::onnx {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

Status system_error(std::string_view subject, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return {missing ? Code::not_found : Code::invalid_argument,
          cat(printable(subject), ": ", std::generic_category().message(error))};
}

Result<OpenedFile> read_bytes(const FileDescriptor& file, std::size_t size,
                              std::string_view subject) {
  const std::shared_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[size]);
  if (!bytes)
    return Status(Code::out_of_memory, cat(printable(subject), ": no memory for ", size, " bytes"));
  for (std::size_t at = 0; at < size;) {
    const ssize_t n = ::pread(file.get(), bytes.get() + at, size - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(subject, errno);
    if (n == 0)
      return Status(Code::invalid_argument,
                    cat(printable(subject), ": it shrank while it was read"));
    at += static_cast<std::size_t>(n);
  }
  return OpenedFile{bytes, {bytes.get(), size}};
}

Result<OpenedFile> open_descriptor(const FileDescriptor& file, FileBytes how,
                                   std::string_view subject) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return system_error(subject, errno);
  if (!S_ISREG(info.st_mode))
    return Status(Code::invalid_argument, cat(printable(subject), ": not a regular file"));
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) {
    static const std::byte nothing{};
    return OpenedFile{nullptr, {&nothing, 0}};
  }
  if (how == FileBytes::read) return read_bytes(file, size, subject);
  void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (p == MAP_FAILED) return system_error(subject, errno);
  return OpenedFile{own_file_pages(p, size), {static_cast<const std::byte*>(p), size}};
}

// Does not block if the name is a pipe.
constexpr int open_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

Status refuse(std::string_view location, std::string_view why) {
  return {Code::invalid_model, cat("external data '", printable(location), "': ", why)};
}

// Splits a relative name into components; returns an error for a component that could leave the
// folder.
Result<std::vector<std::string>> components_of(std::string_view location) {
  if (location.empty()) return refuse(location, "the location is empty");
  if (location.front() == '/') return refuse(location, "absolute paths are refused");
  if (location.find('\0') != std::string_view::npos)
    return refuse(location, "the location holds a zero byte");
  std::vector<std::string> components;
  while (!location.empty()) {
    const std::size_t slash = std::min(location.find('/'), location.size());
    const std::string_view part = location.substr(0, slash);
    if (part == "..") return refuse(location, "'..' is refused");
    if (!part.empty() && part != ".") components.emplace_back(part);
    location.remove_prefix(std::min(slash + 1, location.size()));
  }
  if (components.empty()) return refuse(location, "the location names no file");
  return components;
}

Result<FileDescriptor> open_component(const FileDescriptor& folder, const std::string& name,
                                      int flags, std::string_view location) {
  FileDescriptor next(::openat(folder.get(), name.c_str(), open_flags | O_NOFOLLOW | flags));
  if (next.valid()) return next;
  const int error = errno;
  struct stat info {};
  if (::fstatat(folder.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(info.st_mode))
    return refuse(location, "symbolic links are refused");
  return system_error(cat("external data '", printable(location), "'"), error);
}

Result<FileDescriptor> open_below(const std::string& folder,
                                  const std::vector<std::string>& components,
                                  std::string_view location) {
  FileDescriptor at(::open(folder.c_str(), open_flags | O_DIRECTORY));
  if (!at.valid()) return system_error(folder, errno);
  for (std::size_t i = 0; i < components.size(); ++i) {
    const int flags = i + 1 < components.size() ? O_DIRECTORY : 0;
    QUERN_ASSIGN(at, open_component(at, components[i], flags, location));
  }
  return at;
}

}  // namespace

Result<OpenedFile> open_file(const std::string& path, FileBytes how) {
  const FileDescriptor file(::open(path.c_str(), open_flags));
  if (!file.valid()) return system_error(path, errno);
  return open_descriptor(file, how, path);
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<OpenedFile> ConfinedFolder::open(std::string_view location) {
  if (folder_.empty())
    return refuse(location, "a model that is not read from a file cannot have external data");
  QUERN_ASSIGN(const std::vector<std::string> components, components_of(location));
  std::string key;
  for (const std::string& c : components) key += '/' + c;
  if (const auto known = files_.find(key); known != files_.end()) return known->second;
  QUERN_ASSIGN(const FileDescriptor file, open_below(folder_, components, location));
  QUERN_ASSIGN(OpenedFile opened, open_descriptor(file, how_, location));
  opened_bytes_ += opened.bytes.size();
  files_.emplace(std::move(key), opened);
  return opened;
}

}  // namespace quern::onnx
