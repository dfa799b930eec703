// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quern::testing {

// A sanitizer keeps what is freed, so that the process' memory says nothing of ours, and makes code
// slower by a factor of ten and more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;  // gcc
#elif defined(__has_feature)
inline constexpr bool sanitized = __has_feature(address_sanitizer) ||  // clang
                                  __has_feature(thread_sanitizer);
#else
inline constexpr bool sanitized = false;
#endif

}  // namespace quern::testing
