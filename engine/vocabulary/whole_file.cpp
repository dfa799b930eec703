// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/whole_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "engine/vocabulary/platform/files.h"
#include "engine/vocabulary/platform/process.h"
#include "engine/vocabulary/text_util.h"

namespace quern {
namespace {

constexpr unsigned usual_permissions = 0666;

Status cannot_write(const std::string& path, int error) {
  return {Code::invalid_argument,
          cat("cannot write '", printable(path), "': ", std::strerror(error))};
}

// What a link points at.
std::string target_of(const std::string& path) {
#if defined(__wasi__)
  return path;  // its C++ library has no file system
#else
  std::error_code ignored;
  return std::filesystem::canonical(path, ignored).string();
#endif
}

}  // namespace

Status write_whole_file(const std::string& path, std::span<const std::string_view> pieces,
                        OnSignal on_signal) {
  using platform::Existing;
  const std::optional<platform::FileInfo> info = platform::info_of(path);
  if (info && info->kind != platform::FileInfo::Kind::regular) {
    const int error = platform::write_file(path, Existing::kept, usual_permissions, pieces);
    return error ? cannot_write(path, error) : Status();
  }
  // A link goes on pointing at the file, which keeps its permissions.
  const std::string target = info ? target_of(path) : path;
  if (info && !platform::may_write(target)) return cannot_write(path, errno);
  const std::string beside = cat(target, ".", platform::process_id(), ".part");
  if (beside.size() > platform::RemovedOnSignal::longest_path)
    return cannot_write(path, ENAMETOOLONG);
  std::optional<platform::RemovedOnSignal> guard;
  if (on_signal == OnSignal::removes) guard.emplace(beside);
  const unsigned permissions = info ? info->permissions : usual_permissions;
  int error = platform::write_file(beside, Existing::error, permissions, pieces);
  // A file in a folder of somebody else's.
  if (info && (error == EACCES || error == EPERM))
    error = platform::write_file(target, Existing::emptied, usual_permissions, pieces);
  else if (error == 0)
    error = platform::replace_file(beside, target);
  if (error == 0) return {};
  platform::remove_file(beside);
  return cannot_write(path, error);
}

}  // namespace quern
