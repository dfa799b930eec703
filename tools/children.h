// SPDX-License-Identifier: Apache-2.0
// Work in child processes, so that a crash or an endless loop takes only itself along.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace quern::tools {

struct ChildResult {
  enum class How { finished, crashed, timed_out };

  How how = How::finished;
  std::string answer;  // what the work returned, when it finished
  std::string why;     // "SIGSEGV (Segmentation fault)", when it crashed
  double ms = 0;
};

struct ChildOptions {
  int jobs = 1;            // children at the same time
  double timeout_s = 120;  // for each work
  // Works that a child does one after the other, of neighbouring numbers. After one that crashes or
  // hangs, or whose answer `ends_child` is true of, the rest go to a new child.
  std::size_t per_child = 1;
  std::function<bool(const std::string& answer)> ends_child = {};
};

// Calls work(i) for each i in [0, count), in forks of this process, which must have one thread.
// done(i) hears of each in the order in which they end. Children die with this process. Where the
// system has no forks, this process does one work after the other, without timeouts.
void run_in_children(std::size_t count, const ChildOptions& options,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildResult&)>& done);

}  // namespace quern::tools
