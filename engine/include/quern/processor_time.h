// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace quern {

// Returns the processor time that the calling thread has used so far, and with it the threads of
// its OpenMP team: the difference of two calls around a run is what that run took. `threads` is
// Session::threads(); 1 counts the caller alone. The first call on a thread with another number
// than the last one makes the team, if it is not there yet. Not counted: threads of a device's
// driver, the thread of submit(), and the run of a caller that is in a parallel region of its own.
std::chrono::nanoseconds processor_time(int threads = 1) noexcept;

}  // namespace quern
