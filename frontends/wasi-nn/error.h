// SPDX-License-Identifier: Apache-2.0
// The result of a wasi-nn call: a number for the guest and a message for the host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <quern/status.h>

namespace quern::wasi_nn {

// The numbers of witx, and from 100 on those that hosts of prompts agree on; only WIT has
// `timed_out`, witx reports runtime_error instead.
enum class Errno : std::uint16_t {
  success = 0,
  invalid_argument = 1,
  invalid_encoding = 2,
  missing_memory = 3,
  busy = 4,
  runtime_error = 5,
  unsupported_operation = 6,
  too_large = 7,
  not_found = 8,
  end_of_sequence = 100,
  context_full = 101,
  prompt_too_long = 102,
  model_not_found = 103,
  timed_out = 0x100,
};

// "invalid_argument"
std::string_view errno_name(Errno code) noexcept;

struct [[nodiscard]] Error {
  Errno code = Errno::success;
  std::string text;  // names what was found and what is expected; empty on success

  Error() = default;
  Error(Errno c, std::string t) : code(c), text(std::move(t)) {}
  // Converts an error of the engine. Its busy means a deadline or a cancellation: contexts in use
  // are detected earlier.
  explicit Error(const Status& status);

  bool ok() const { return code == Errno::success; }
};

// Concatenates the arguments.
template <class... T>
std::string sentence(const T&... parts) {
  std::string s;
  const auto append = [&s](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      s += std::to_string(part);
    else
      s += part;
  };
  (append(parts), ...);
  return s;
}

// A name from a guest or a model, truncated and in quotes, with every byte that is not printable
// ASCII as \xNN.
std::string quoted_name(std::string_view name);

}  // namespace quern::wasi_nn

// Returns the error from the enclosing function, if there is one.
#define QUERN_NN_TRY(expr)                                                          \
  do {                                                                              \
    if (::quern::wasi_nn::Error nn_error = (expr); !nn_error.ok()) return nn_error; \
  } while (0)
