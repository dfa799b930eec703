// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/whole_file.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// The file that is being written, for the handler, which may call nothing but unlink().
char unfinished[4096];

extern "C" void remove_unfinished(int signal) {
  unlink(unfinished);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Removes `unfinished` where the process is told to end, as long as this exists.
class Guard {
 public:
  Guard() {
    struct sigaction action {};
    action.sa_handler = &remove_unfinished;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(signals); ++i) {
      sigaction(signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_DFL) sigaction(signals[i], &action, nullptr);
    }
  }
  ~Guard() {
    for (std::size_t i = 0; i < std::size(signals); ++i)
      sigaction(signals[i], &before_[i], nullptr);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  static constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(signals)];
};

Status cannot_write(const std::string& path, int error) {
  return {Code::invalid_argument,
          cat("cannot write '", printable(path), "': ", std::strerror(error))};
}

// 0, or errno.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n < 0 ? errno : ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// Opens, writes and closes: 0, or errno.
int write_file_at(const char* path, int flags, mode_t mode,
                  std::span<const std::string_view> pieces) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode);
  if (descriptor < 0) return errno;
  int error = 0;
  for (const std::string_view piece : pieces)
    if (error == 0) error = write_all(descriptor, piece);
  const bool closed = close(descriptor) == 0;
  return error ? error : closed ? 0 : errno;
}

}  // namespace

Status write_whole_file(const std::string& path, std::span<const std::string_view> pieces,
                        OnSignal on_signal) {
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    const int error = write_file_at(path.c_str(), 0, 0666, pieces);
    return error ? cannot_write(path, error) : Status();
  }
  // A link goes on pointing at the file, which keeps its permissions.
  std::error_code ignored;
  const std::string target = exists ? fs::canonical(path, ignored).string() : path;
  if (exists && access(target.c_str(), W_OK) != 0) return cannot_write(path, errno);
  const std::string beside = cat(target, ".", getpid(), ".part");
  if (beside.size() >= sizeof unfinished) return cannot_write(path, ENAMETOOLONG);
  std::optional<Guard> guard;
  if (on_signal == OnSignal::removes) {
    std::memcpy(unfinished, beside.c_str(), beside.size() + 1);
    guard.emplace();
  }
  int error = write_file_at(beside.c_str(), O_EXCL, exists ? info.st_mode & 0777 : 0666, pieces);
  // A file in a folder of somebody else's.
  if (exists && (error == EACCES || error == EPERM))
    error = write_file_at(target.c_str(), O_TRUNC, 0666, pieces);
  else if (error == 0 && std::rename(beside.c_str(), target.c_str()) != 0)
    error = errno;
  if (error == 0) return {};
  unlink(beside.c_str());
  return cannot_write(path, error);
}

}  // namespace quern
