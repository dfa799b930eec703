// SPDX-License-Identifier: Apache-2.0
// QUERN_SANITIZED is 1 if a sanitizer replaces malloc, else 0.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QUERN_SANITIZED 1  // gcc
#elif defined(__has_feature)
#define QUERN_SANITIZED \
  (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))  // clang
#else
#define QUERN_SANITIZED 0
#endif

namespace quern::testing {

// A sanitizer keeps what is freed, so that the process' memory says nothing of ours, and makes code
// slower by a factor of ten and more.
inline constexpr bool sanitized = QUERN_SANITIZED != 0;

}  // namespace quern::testing
