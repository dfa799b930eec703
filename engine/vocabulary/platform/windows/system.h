// SPDX-License-Identifier: Apache-2.0
// Windows' header, without the parts whose macros are names of ours.
#pragma once

#if defined(_WIN32)
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef NOGDI
#define NOGDI
#endif
#include <windows.h>
#undef DELETE

#include <cerrno>
#include <cstdint>
#include <psapi.h>  // knows none of the types of windows.h by itself

namespace quern::platform {

// Sets errno to what the last error of Windows would be called elsewhere.
inline void set_errno() noexcept {
  switch (::GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NETPATH: errno = ENOENT; break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_USER_MAPPED_FILE: errno = EACCES; break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: errno = EEXIST; break;
    case ERROR_DIRECTORY: errno = ENOTDIR; break;
    case ERROR_TOO_MANY_OPEN_FILES: errno = EMFILE; break;
    case ERROR_FILENAME_EXCED_RANGE: errno = ENAMETOOLONG; break;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: errno = ENOSPC; break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT: errno = ENOMEM; break;
    case ERROR_INVALID_PARAMETER:
    case ERROR_INVALID_HANDLE: errno = EINVAL; break;
    default: errno = EIO; break;
  }
}

inline HANDLE handle_of(std::intptr_t number) noexcept {
  return reinterpret_cast<HANDLE>(number);  // NOLINT: what a File has for a number
}
inline std::intptr_t number_of(HANDLE handle) noexcept {
  return reinterpret_cast<std::intptr_t>(handle);
}

}  // namespace quern::platform
#endif
