// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/process.h"

#if defined(_WIN32)
#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <io.h>
#include <iterator>
#include <vector>

#include "engine/vocabulary/platform/waiting.h"
#include "engine/vocabulary/platform/windows/system.h"

namespace quern::platform {
namespace {

using Times = std::chrono::duration<std::int64_t, std::ratio<1, 10'000'000>>;  // of Windows

std::chrono::nanoseconds sum_of(const FILETIME& kernel, const FILETIME& user) {
  const auto ticks = [](const FILETIME& t) {
    return static_cast<std::int64_t>(std::uint64_t{t.dwHighDateTime} << 32 | t.dwLowDateTime);
  };
  return Times(ticks(kernel) + ticks(user));
}

}  // namespace

// ---- the process -------------------------------------------------------------------------------

std::int64_t process_id() noexcept {
  return ::GetCurrentProcessId();
}

void on_fork(void (*)(), void (*)()) noexcept {}

int allowed_cpus() noexcept {
  DWORD_PTR mine = 0;
  DWORD_PTR all = 0;
  if (!::GetProcessAffinityMask(::GetCurrentProcess(), &mine, &all)) return 1;
  return std::max(1, std::popcount(std::uint64_t{mine}));
}

double cpu_quota() {
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION rate{};
  constexpr DWORD hard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if (!::QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &rate, sizeof rate,
                                   nullptr) ||
      (rate.ControlFlags & hard) != hard)
    return 0;
  SYSTEM_INFO info;
  ::GetSystemInfo(&info);
  return 1e-4 * rate.CpuRate * info.dwNumberOfProcessors;  // in hundredths of a percent of all
}

std::size_t second_level_cache() noexcept {
  DWORD bytes = 0;
  ::GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(bytes / sizeof all[0]);
  if (all.empty() || !::GetLogicalProcessorInformation(all.data(), &bytes)) return 0;
  for (const auto& row : all)
    if (row.Relationship == RelationCache && row.Cache.Level == 2) return row.Cache.Size;
  return 0;
}

std::size_t peak_resident_bytes() noexcept {
  PROCESS_MEMORY_COUNTERS counters{};
  if (!::GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters)) return 0;
  return counters.PeakWorkingSetSize;
}

std::string system_name() {
  return "Windows x86_64";
}

bool is_terminal(Stream stream) noexcept {
  return ::_isatty(static_cast<int>(stream)) != 0;
}

void set_variable(const char* name, const char* value) {
  ::_putenv_s(name, value);
}

void* with_variable(char*, void* (*open)()) noexcept {
  return open();
}

std::string make_private_folder(const std::string& prefix) {
  constexpr int most_tries = 100;
  for (int i = 0; i < most_tries; ++i) {
    const std::string name =
        prefix + std::to_string(process_id()) + "-" + std::to_string(::GetTickCount64() + i);
    if (::CreateDirectoryA(name.c_str(), nullptr)) return name;
  }
  return {};
}

// Windows takes the handler away when it calls it.
OnInterrupt::OnInterrupt(void (*handler)(int)) noexcept {
  before_[0] = reinterpret_cast<void*>(std::signal(SIGINT, handler));
}

OnInterrupt::~OnInterrupt() {
  std::signal(SIGINT, reinterpret_cast<void (*)(int)>(before_[0]));
}

// ---- threads and clocks ------------------------------------------------------------------------

ThreadClock this_thread_clock() noexcept {
  return static_cast<ThreadClock>(::GetCurrentThreadId());
}

std::chrono::nanoseconds time_of(ThreadClock clock) noexcept {
  const HANDLE thread =
      ::OpenThread(THREAD_QUERY_LIMITED_INFORMATION, FALSE, static_cast<DWORD>(clock));
  if (!thread) return std::chrono::nanoseconds(0);
  FILETIME begin;
  FILETIME end;
  FILETIME kernel{};
  FILETIME user{};
  const bool has_times = ::GetThreadTimes(thread, &begin, &end, &kernel, &user) != 0;
  ::CloseHandle(thread);
  return has_times ? sum_of(kernel, user) : std::chrono::nanoseconds(0);
}

std::chrono::nanoseconds thread_time() noexcept {
  FILETIME begin;
  FILETIME end;
  FILETIME kernel{};
  FILETIME user{};
  if (!::GetThreadTimes(::GetCurrentThread(), &begin, &end, &kernel, &user))
    return std::chrono::nanoseconds(0);
  return sum_of(kernel, user);
}

std::chrono::nanoseconds process_time() noexcept {
  FILETIME begin;
  FILETIME end;
  FILETIME kernel{};
  FILETIME user{};
  if (!::GetProcessTimes(::GetCurrentProcess(), &begin, &end, &kernel, &user))
    return std::chrono::nanoseconds(0);
  return sum_of(kernel, user);
}

std::chrono::nanoseconds raw_time() noexcept {
  LARGE_INTEGER ticks;
  LARGE_INTEGER a_second;
  ::QueryPerformanceCounter(&ticks);
  ::QueryPerformanceFrequency(&a_second);
  const double seconds =
      static_cast<double>(ticks.QuadPart) / static_cast<double>(a_second.QuadPart);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
}

std::tm local_time(std::time_t time) noexcept {
  std::tm parts{};
  ::localtime_s(&parts, &time);
  return parts;
}

void wait_while(const std::atomic<unsigned>& value, unsigned known) noexcept {
  while (value.load() == known)
    ::WaitOnAddress(const_cast<std::atomic<unsigned>*>(&value), &known, sizeof known, INFINITE);
}
void wake_one(std::atomic<unsigned>& value) noexcept {
  ::WakeByAddressSingle(&value);
}
void wake_all(std::atomic<unsigned>& value) noexcept {
  ::WakeByAddressAll(&value);
}

void name_thread(std::thread&, const char*) noexcept {}

// ---- the CPU -----------------------------------------------------------------------------------

CpuBits cpu_bits() noexcept {
  return {};
}

int sve_bytes() noexcept {
  return 0;
}

bool may_use_tiles() noexcept {
  return false;
}

void load_unwinder() noexcept {}

}  // namespace quern::platform
#endif
