// SPDX-License-Identifier: Apache-2.0
// What goes around a host: blocks above 64 KiB that it did not give, threads that it did not start,
// changes of its environment. The functions of C are replaced by ones of the same names, which
// libraries that are opened later find, too.
#pragma once

#include <cstddef>
#include <string>

namespace quern::testing {

// Watches from its construction on, on all threads; one at a time.
class AroundHost {
 public:
  AroundHost();
  ~AroundHost();
  AroundHost(const AroundHost&) = delete;
  AroundHost& operator=(const AroundHost&) = delete;

  struct Counts {
    std::size_t allocations = 0;  // of more than 64 KiB, by malloc and its kin
    std::size_t maps = 0;         // of more than 64 KiB, of memory and not of files
    std::size_t onednn = 0;       // of either kind, below a call into oneDNN
    std::size_t threads = 0;
    std::size_t environment = 0;  // calls that change it, libraries opened with another

    std::size_t all_but_onednn() const { return allocations + maps + threads + environment; }
  };
  // Ends the watching.
  Counts stop();
  // Where the first that is not oneDNN's came from, a line a frame.
  std::string first_caller() const;
};

// What the calling thread does in this scope is the host's.
class HostsOwn {
 public:
  HostsOwn();
  ~HostsOwn();
  HostsOwn(const HostsOwn&) = delete;
  HostsOwn& operator=(const HostsOwn&) = delete;
};

}  // namespace quern::testing
