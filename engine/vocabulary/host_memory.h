// SPDX-License-Identifier: Apache-2.0
// Whose memory a thread takes: that of the host whose call it is in, or the system's.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <quern/host.h>

namespace quern {

// Between its construction and its end, blocks that this thread takes are those of `host` (null:
// the system's). Public calls have one, with the host of their options. Scopes may nest.
class HostScope {
 public:
  explicit HostScope(const std::shared_ptr<Host>& host);
  ~HostScope();
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

 private:
  const std::shared_ptr<Host>* before_;
};

// Null outside of every scope.
std::shared_ptr<Host> current_host();
// A sentence for the host of the scope; dropped where there is none.
void tell_host(Host::Level level, std::string_view sentence);

// A block of any content, aligned to 64 bytes; null if there is no memory. Where it is small, or no
// host is there, it is the system's.
struct HostBlock {
  static HostBlock take(std::size_t bytes);
  void release();

  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<Host> host;  // null: the system's
};

}  // namespace quern
