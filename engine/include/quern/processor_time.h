// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace quern {

class Session;

// Returns the processor time that the calling thread has used so far, and with it the threads of
// its OpenMP team: the difference of two calls around a run is what that run took. `threads` is
// Session::threads(); 1 counts the caller alone. The first call on a thread with another number
// than the last one makes the team, if it is not there yet. Not counted: threads of a device's
// driver, the thread of submit(), and the run of a caller that is in a parallel region of its own.
std::chrono::nanoseconds processor_time(int threads = 1) noexcept;

// The same for runs of this session, on the threads that it has: of a pool what they have worked
// for the calling thread, on a GPU those of nobody else.
std::chrono::nanoseconds processor_time(const Session& session) noexcept;

}  // namespace quern
