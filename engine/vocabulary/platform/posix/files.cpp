// SPDX-License-Identifier: Apache-2.0
// Files of POSIX, and of WASI, whose C library has the same calls.
#include "engine/vocabulary/platform/files.h"

#if !defined(_WIN32)
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>
#if !defined(__wasi__)
#include <csignal>
#endif

namespace quern::platform {
namespace {

constexpr int reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

int descriptor_of(const File& file) {
  return static_cast<int>(file.get());
}

FileInfo info_from(const struct stat& s) {
  FileInfo info;
  if (S_ISREG(s.st_mode)) info.kind = FileInfo::Kind::regular;
  if (S_ISDIR(s.st_mode)) info.kind = FileInfo::Kind::folder;
  info.size = static_cast<std::uint64_t>(s.st_size);
  info.permissions = s.st_mode & 0777;
  return info;
}

// 0, or errno.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

int flags_for(Existing existing) {
  switch (existing) {
    case Existing::error: return O_EXCL;
    case Existing::emptied: return O_TRUNC;
    case Existing::kept: break;
  }
  return 0;
}

}  // namespace

File::~File() {
  if (is_open()) ::close(static_cast<int>(handle_));
}

std::optional<FileInfo> info_of(const File& file) {
  struct stat s {};
  if (::fstat(descriptor_of(file), &s) != 0) return std::nullopt;
  return info_from(s);
}

std::optional<FileInfo> info_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return std::nullopt;
  return info_from(s);
}

bool may_write(const std::string& path) {
  return ::access(path.c_str(), W_OK) == 0;
}

File open_file(const std::string& path) {
  return File(::open(path.c_str(), reading));
}

File open_folder(const std::string& path) {
  return File(::open(path.c_str(), reading | O_DIRECTORY));
}

File open_in(const File& folder, const std::string& name, FileInfo::Kind wanted) {
  const int flags = reading | O_NOFOLLOW | (wanted == FileInfo::Kind::folder ? O_DIRECTORY : 0);
  File file(::openat(descriptor_of(folder), name.c_str(), flags));
  if (file.is_open()) return file;
  const int error = errno;
  struct stat s {};
  const bool is_link =
      ::fstatat(descriptor_of(folder), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(s.st_mode);
  errno = is_link ? ELOOP : error;
  return file;
}

std::ptrdiff_t read_at(const File& file, std::uint64_t offset, void* to, std::size_t bytes) {
  for (;;) {
    const ssize_t n = ::pread(descriptor_of(file), to, bytes, static_cast<off_t>(offset));
    if (n >= 0 || errno != EINTR) return n;
  }
}

int write_file(const std::string& path, Existing existing, unsigned permissions,
               std::span<const std::string_view> pieces) {
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | flags_for(existing);
  const int descriptor = ::open(path.c_str(), flags, static_cast<mode_t>(permissions));
  if (descriptor < 0) return errno;
  int error = 0;
  for (const std::string_view piece : pieces)
    if (error == 0) error = write_all(descriptor, piece);
  const bool closed = ::close(descriptor) == 0;
  return error ? error : closed ? 0 : errno;
}

int replace_file(const std::string& fresh, const std::string& old) {
  return std::rename(fresh.c_str(), old.c_str()) == 0 ? 0 : errno;
}

void remove_file(const std::string& path) noexcept {
  ::unlink(path.c_str());
}

void make_folders(const std::string& path) {
  for (std::size_t end = 0; end != path.npos;) {
    end = path.find('/', end + 1);
    (void)::mkdir(path.substr(0, end).c_str(), 0777);
  }
}

std::string cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') return cache;
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.cache";
  return {};
}

// ---- signals -----------------------------------------------------------------------------------

#if defined(__wasi__)

RemovedOnSignal::RemovedOnSignal(const std::string&) {}  // there are none
RemovedOnSignal::~RemovedOnSignal() = default;

#else

namespace {

// The file that is being written, for the handler, which may call nothing but unlink().
char unfinished[RemovedOnSignal::longest_path + 1];
constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before_removal[std::size(ending_signals)];

extern "C" void remove_unfinished(int signal) {
  ::unlink(unfinished);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(const std::string& path) {
  std::snprintf(unfinished, sizeof unfinished, "%s", path.c_str());
  struct sigaction action {};
  action.sa_handler = &remove_unfinished;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(ending_signals); ++i) {
    sigaction(ending_signals[i], nullptr, &before_removal[i]);
    if (before_removal[i].sa_handler == SIG_DFL) sigaction(ending_signals[i], &action, nullptr);
  }
}

RemovedOnSignal::~RemovedOnSignal() {
  for (std::size_t i = 0; i < std::size(ending_signals); ++i)
    sigaction(ending_signals[i], &before_removal[i], nullptr);
}

#endif

}  // namespace quern::platform
#endif
