// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/files.h"

#if defined(_WIN32)
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>

#include "engine/vocabulary/platform/windows/system.h"

namespace quern::platform {
namespace {

// Others may read, write and replace the file meanwhile, as elsewhere.
constexpr DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
// A folder that is open so cannot be renamed, so that its path stays its path.
constexpr DWORD shared_in_place = FILE_SHARE_READ | FILE_SHARE_WRITE;

File opened(HANDLE handle) {
  if (handle == INVALID_HANDLE_VALUE) set_errno();
  return File(number_of(handle));
}

bool is_folder(DWORD attributes) {
  return (attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
}

unsigned permissions_of(DWORD attributes) {
  return (attributes & FILE_ATTRIBUTE_READONLY) != 0 ? 0444 : 0666;
}

std::uint64_t number_from(DWORD high, DWORD low) {
  return std::uint64_t{high} << 32 | low;
}

// Names that a folder does not have for its own: streams of files, other folders.
bool is_plain_name(const std::string& name) {
  return name.find_first_of("\\/:") == std::string::npos;
}

std::wstring path_of(const File& file) {
  std::wstring path(MAX_PATH, L'\0');
  for (;;) {
    const DWORD size = ::GetFinalPathNameByHandleW(handle_of(file.get()), path.data(),
                                                   static_cast<DWORD>(path.size()), 0);
    if (size < path.size()) {
      path.resize(size);
      return path;
    }
    path.resize(size + 1);
  }
}

std::wstring wide(const std::string& narrow) {
  const auto bytes = static_cast<int>(narrow.size());
  const int size = ::MultiByteToWideChar(CP_ACP, 0, narrow.data(), bytes, nullptr, 0);
  std::wstring text(static_cast<std::size_t>(size), L'\0');
  ::MultiByteToWideChar(CP_ACP, 0, narrow.data(), bytes, text.data(), size);
  return text;
}

bool write_all(HANDLE file, std::string_view bytes) {
  while (!bytes.empty()) {
    constexpr std::size_t most = std::size_t{1} << 30;
    DWORD done = 0;
    const auto part = static_cast<DWORD>(std::min(bytes.size(), most));
    if (!::WriteFile(file, bytes.data(), part, &done, nullptr)) return false;
    bytes.remove_prefix(done);
  }
  return true;
}

DWORD disposition(Existing existing) {
  switch (existing) {
    case Existing::error: return CREATE_NEW;
    case Existing::emptied: return CREATE_ALWAYS;
    case Existing::kept: break;
  }
  return OPEN_ALWAYS;
}

// One that is gone already leaves nothing to be said.
char unfinished[RemovedOnSignal::longest_path + 1];
constexpr int ending_signals[] = {SIGINT, SIGTERM, SIGBREAK};
using Handler = void (*)(int);
Handler before_removal[std::size(ending_signals)];

extern "C" void remove_unfinished(int signal) {
  ::DeleteFileA(unfinished);
  std::signal(signal, SIG_DFL);
  (void)std::raise(signal);
}

}  // namespace

File::~File() {
  if (is_open()) ::CloseHandle(handle_of(handle_));
}

std::optional<FileInfo> info_of(const File& file) {
  const HANDLE handle = handle_of(file.get());
  FileInfo info;
  if (::GetFileType(handle) != FILE_TYPE_DISK) return info;
  BY_HANDLE_FILE_INFORMATION i;
  if (!::GetFileInformationByHandle(handle, &i)) {
    set_errno();
    return std::nullopt;
  }
  info.kind = is_folder(i.dwFileAttributes) ? FileInfo::Kind::folder : FileInfo::Kind::regular;
  info.size = number_from(i.nFileSizeHigh, i.nFileSizeLow);
  info.permissions = permissions_of(i.dwFileAttributes);
  return info;
}

std::optional<FileInfo> info_of(const std::string& path) {
  const File file = opened(::CreateFileA(path.c_str(), FILE_READ_ATTRIBUTES, shared, nullptr,
                                         OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  return file.is_open() ? info_of(file) : std::nullopt;
}

bool may_write(const std::string& path) {
  const auto info = info_of(path);
  if (info && info->permissions == 0666) return true;
  errno = EACCES;
  return false;
}

File open_file(const std::string& path) {
  return opened(::CreateFileA(path.c_str(), GENERIC_READ, shared, nullptr, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS, nullptr));
}

File open_folder(const std::string& path) {
  File folder = opened(::CreateFileA(path.c_str(), FILE_READ_ATTRIBUTES, shared_in_place, nullptr,
                                     OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!folder.is_open()) return folder;
  const auto info = info_of(folder);
  if (info && info->kind == FileInfo::Kind::folder) return folder;
  errno = ENOTDIR;
  return File();
}

// The folder is open, so that it and those above it stay where they are; a link would be opened
// itself. The path of the system's own kind has no names of devices in it.
File open_in(const File& folder, const std::string& name, FileInfo::Kind wanted) {
  if (!is_plain_name(name)) {
    errno = ENOENT;
    return File();
  }
  const std::wstring path = path_of(folder) + L"\\" + wide(name);
  const bool wants_folder = wanted == FileInfo::Kind::folder;
  File file =
      opened(::CreateFileW(path.c_str(), wants_folder ? FILE_READ_ATTRIBUTES : GENERIC_READ,
                           wants_folder ? shared_in_place : shared, nullptr, OPEN_EXISTING,
                           FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  if (!file.is_open()) return file;
  BY_HANDLE_FILE_INFORMATION info;
  if (!::GetFileInformationByHandle(handle_of(file.get()), &info)) {
    set_errno();
    return File();
  }
  const bool is_link = (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
  if (!is_link && (!wants_folder || is_folder(info.dwFileAttributes))) return file;
  errno = is_link ? ELOOP : ENOTDIR;
  return File();
}

std::ptrdiff_t read_at(const File& file, std::uint64_t offset, void* to, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 30;
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD done = 0;
  const auto part = static_cast<DWORD>(std::min(bytes, most));
  if (::ReadFile(handle_of(file.get()), to, part, &done, &place)) return done;
  if (::GetLastError() == ERROR_HANDLE_EOF) return 0;
  set_errno();
  return -1;
}

// Can be removed while it is written, by RemovedOnSignal.
int write_file(const std::string& path, Existing existing, unsigned,
               std::span<const std::string_view> pieces) {
  const File file =
      opened(::CreateFileA(path.c_str(), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE,
                           nullptr, disposition(existing), FILE_ATTRIBUTE_NORMAL, nullptr));
  if (!file.is_open()) return errno;
  for (const std::string_view piece : pieces) {
    if (write_all(handle_of(file.get()), piece)) continue;
    set_errno();
    return errno;
  }
  return 0;
}

int replace_file(const std::string& fresh, const std::string& old) {
  if (::MoveFileExA(fresh.c_str(), old.c_str(), MOVEFILE_REPLACE_EXISTING)) return 0;
  set_errno();
  return errno;
}

void remove_file(const std::string& path) noexcept {
  ::DeleteFileA(path.c_str());
}

void make_folders(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directories(path, ignored);
}

std::string cache_folder() {
  const char* const local = std::getenv("LOCALAPPDATA");
  return local ? local : "";
}

RemovedOnSignal::RemovedOnSignal(const std::string& path) {
  std::snprintf(unfinished, sizeof unfinished, "%s", path.c_str());
  for (std::size_t i = 0; i < std::size(ending_signals); ++i) {
    before_removal[i] = std::signal(ending_signals[i], &remove_unfinished);
    if (before_removal[i] != SIG_DFL) std::signal(ending_signals[i], before_removal[i]);
  }
}

RemovedOnSignal::~RemovedOnSignal() {
  for (std::size_t i = 0; i < std::size(ending_signals); ++i)
    if (before_removal[i] == SIG_DFL) std::signal(ending_signals[i], SIG_DFL);
}

}  // namespace quern::platform
#endif
