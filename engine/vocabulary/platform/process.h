// SPDX-License-Identifier: Apache-2.0
// This process and its threads, as the operating system and the CPU know them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <thread>

namespace quern::platform {

// ---- the process -------------------------------------------------------------------------------

// Another one in a child of fork().
std::int64_t process_id() noexcept;
// Calls these in every fork() from now on, `before` in the parent; either may be null. Nothing
// where processes do not fork.
void on_fork(void (*before)(), void (*in_child)()) noexcept;

// The CPUs on which this process may run, at least 1.
int allowed_cpus() noexcept;
// How many of them it may use up at a time (a quota of its group); 0: no such limit.
double cpu_quota();
// The bytes of the second-level cache; 0: not known.
std::size_t second_level_cache() noexcept;
// The most memory that this process has had resident; 0: not known.
std::size_t peak_resident_bytes() noexcept;
// The system, its version and its CPU, separated by spaces.
std::string system_name();

enum class Stream : std::uint8_t { input, output, errors };
bool is_terminal(Stream stream) noexcept;

// Sets a variable of the environment. No other thread may read the environment meanwhile.
void set_variable(const char* name, const char* value);
// Calls `open` with a variable in the environment, "NAME=value", which then is gone again; other
// threads may read it meanwhile. `variable` must stay valid. Where that cannot be it is just
// called.
void* with_variable(char* variable, void* (*open)()) noexcept;

// Makes a folder for the caller alone, whose name begins with `prefix`; "" where it fails.
std::string make_private_folder(const std::string& prefix);

// As long as it lives, `handler` is called when somebody asks for an end (SIGINT) for the first
// time; the second time ends the process. The handler may call nothing but what signals may call.
class OnInterrupt {
 public:
  explicit OnInterrupt(void (*handler)(int)) noexcept;
  ~OnInterrupt();
  OnInterrupt(const OnInterrupt&) = delete;
  OnInterrupt& operator=(const OnInterrupt&) = delete;

 private:
  void* before_[32] = {};  // what the system had there
};

// ---- threads and clocks ------------------------------------------------------------------------

// The clock of a thread's processor time, which others can read.
using ThreadClock = std::intptr_t;
// The calling thread's, valid as long as it lives.
ThreadClock this_thread_clock() noexcept;
// 0 for a thread that is gone, and where the system does not say.
std::chrono::nanoseconds time_of(ThreadClock clock) noexcept;
// The processor time of the calling thread so far, and that of the process.
std::chrono::nanoseconds thread_time() noexcept;
std::chrono::nanoseconds process_time() noexcept;
// A clock of the wall that neither adjustments nor the C library change, where there is one.
std::chrono::nanoseconds raw_time() noexcept;
// The calendar's time here.
std::tm local_time(std::time_t time) noexcept;

// For debuggers and lists of threads; `name` has at most 15 characters.
void name_thread(std::thread& thread, const char* name) noexcept;

// ---- the CPU, where the operating system must say or allow it ----------------------------------

// The features of an ARM CPU (AT_HWCAP, AT_HWCAP2); 0 on others, and on systems with no such list.
struct CpuBits {
  unsigned long first = 0;
  unsigned long second = 0;
};
CpuBits cpu_bits() noexcept;
// The bytes of a vector of SVE; 0: no such vectors.
int sve_bytes() noexcept;
// Asks for the tiles of AMX, whose state the system keeps only for who has asked.
bool may_use_tiles() noexcept;

// Loads what unwinds the stack for exceptions, which would else be loaded when there may be no
// memory for it.
void load_unwinder() noexcept;

}  // namespace quern::platform
