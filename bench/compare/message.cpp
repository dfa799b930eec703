// SPDX-License-Identifier: Apache-2.0
#include "bench/compare/message.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <string>
#include <unistd.h>

namespace quern::bench {
namespace {

constexpr std::uint64_t max_length = std::uint64_t{1} << 28;

// Waits before every read, so that a silent peer cannot hold the caller.
Status read_exactly(int descriptor, char* data, std::size_t size,
                    std::chrono::milliseconds patience) {
  while (size > 0) {
    pollfd p{descriptor, POLLIN, 0};
    const int ready = poll(&p, 1, static_cast<int>(patience.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return {Code::busy, "no answer in time"};
    const ssize_t n = read(descriptor, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {Code::busy, "the process has ended"};
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

}  // namespace

Status send_message(int descriptor, const tools::Json& message) {
  const std::string text = message.dump();
  const std::uint64_t length = text.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += text;
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(descriptor, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {Code::busy, "the process has ended"};
    at += static_cast<std::size_t>(n);
  }
  return {};
}

Result<tools::Json> receive_message(int descriptor, std::chrono::milliseconds patience) {
  std::uint64_t length = 0;
  QUERN_TRY(read_exactly(descriptor, reinterpret_cast<char*>(&length), sizeof length, patience));
  if (length > max_length) return Status(Code::internal, "a message of absurd length");
  std::string text(length, '\0');
  QUERN_TRY(read_exactly(descriptor, text.data(), text.size(), patience));
  return tools::parse_json(text);
}

}  // namespace quern::bench
