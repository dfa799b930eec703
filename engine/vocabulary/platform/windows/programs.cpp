// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/programs.h"

#if defined(_WIN32)
#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>

#include "engine/vocabulary/platform/windows/system.h"

namespace quern::platform {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

void close_end(std::intptr_t& end) {
  if (end >= 0) ::CloseHandle(handle_of(end));
  end = -1;
}

// A word as the C library of a program takes it out of its command line.
std::string quoted(const std::string& word) {
  std::string text = "\"";
  std::size_t backslashes = 0;
  for (const char c : word) {
    if (c == '"') text.append(backslashes + 1, '\\');
    backslashes = c == '\\' ? backslashes + 1 : 0;
    text += c;
  }
  text.append(backslashes, '\\');
  return text + '"';
}

std::string own_program() {
  std::array<char, 4096> path{};
  ::GetModuleFileNameA(nullptr, path.data(), path.size() - 1);
  return path.data();
}

// NAME=value and a zero each, and a zero. The other names are not those of `variables`.
std::string environment_with(const std::vector<std::string>& variables) {
  std::string block;
  for (const std::string& v : variables) block.append(v).push_back('\0');
  char* const all = ::GetEnvironmentStringsA();
  for (const char* at = all; at && *at; at += std::string_view(at).size() + 1) {
    const std::string_view text = at;
    const bool is_set = std::ranges::any_of(variables, [&](std::string_view v) {
      return text.starts_with(v.substr(0, v.find('=') + 1));
    });
    if (!is_set) block.append(text).push_back('\0');
  }
  if (all) ::FreeEnvironmentStringsA(all);
  block.push_back('\0');
  return block;
}

bool make_pipe(HANDLE& reads, HANDLE& writes) {
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  return ::CreatePipe(&reads, &writes, &inherited, 1 << 16) != 0;
}

// The end of a pipe does not wait, and is not the child's.
std::intptr_t own_end(HANDLE end) {
  DWORD mode = PIPE_NOWAIT;
  ::SetNamedPipeHandleState(end, &mode, nullptr, nullptr);
  ::SetHandleInformation(end, HANDLE_FLAG_INHERIT, 0);
  return number_of(end);
}

// Ends the process with this one.
HANDLE job_of_children() {
  static const HANDLE job = [] {
    const HANDLE made = ::CreateJobObjectW(nullptr, nullptr);
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    ::SetInformationJobObject(made, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    return made;
  }();
  return job;
}

}  // namespace

// ---- programs ----------------------------------------------------------------------------------

Program::~Program() {
  close_input();
  close_end(output_);
  if (process_ < 0) return;
  ::TerminateProcess(handle_of(process_), 1);
  ::WaitForSingleObject(handle_of(process_), INFINITE);
  close_end(process_);
}

bool Program::start(std::vector<std::string> words, const std::vector<std::string>& variables) {
  if (words[0].empty()) words[0] = own_program();
  std::string line;
  for (const std::string& w : words) line += (line.empty() ? "" : " ") + quoted(w);
  std::string environment = environment_with(variables);
  HANDLE in = nullptr;
  HANDLE out = nullptr;
  HANDLE child_in = nullptr;
  HANDLE child_out = nullptr;
  if (!make_pipe(child_in, in)) return false;
  input_ = own_end(in);
  if (!make_pipe(out, child_out)) {
    ::CloseHandle(child_in);
    return false;
  }
  output_ = own_end(out);
  std::fflush(stdout);
  STARTUPINFOA startup{};
  startup.cb = sizeof startup;
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdInput = child_in;
  startup.hStdOutput = child_out;
  startup.hStdError = ::GetStdHandle(STD_ERROR_HANDLE);
  PROCESS_INFORMATION made{};
  const bool is_started = ::CreateProcessA(nullptr, line.data(), nullptr, nullptr, TRUE, 0,
                                           environment.data(), nullptr, &startup, &made) != 0;
  ::CloseHandle(child_in);
  ::CloseHandle(child_out);
  if (!is_started) return false;
  ::AssignProcessToJobObject(job_of_children(), made.hProcess);
  ::CloseHandle(made.hThread);
  process_ = number_of(made.hProcess);
  return true;
}

Program::Moved Program::move(std::string_view& to_write, std::string& read, milliseconds longest) {
  const auto deadline = Clock::now() + std::min(longest, milliseconds(3'600'000));
  for (;;) {
    bool has_moved = false;
    if (input_ >= 0 && !to_write.empty()) {
      DWORD done = 0;
      const auto part = static_cast<DWORD>(std::min<std::size_t>(to_write.size(), 1 << 15));
      const bool is_read =
          ::WriteFile(handle_of(input_), to_write.data(), part, &done, nullptr) != 0;
      to_write.remove_prefix(is_read ? done : to_write.size());
      has_moved = done > 0 || to_write.empty();
    }
    std::array<char, 65536> buffer;
    DWORD size = 0;
    if (::ReadFile(handle_of(output_), buffer.data(), buffer.size(), &size, nullptr)) {
      read.append(buffer.data(), size);
      return Moved::some;
    }
    if (::GetLastError() != ERROR_NO_DATA) return Moved::closed;
    if (has_moved) return Moved::some;
    if (Clock::now() > deadline) return Moved::nothing;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void Program::close_input() {
  close_end(input_);
}

std::optional<Exit> Program::wait(milliseconds longest) {
  const auto ms = static_cast<DWORD>(std::clamp<std::int64_t>(longest.count(), 0, 3'600'000));
  if (::WaitForSingleObject(handle_of(process_), ms) != WAIT_OBJECT_0) return std::nullopt;
  DWORD code = 0;
  ::GetExitCodeProcess(handle_of(process_), &code);
  close_end(process_);
  Exit exit;
  exit.code = static_cast<int>(code);
  if (code < 0xC0000000U) return exit;
  exit.how = Exit::How::signalled;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "exception 0x%lX", code);
  exit.signal = exit.described = text.data();
  return exit;
}

// ---- forks -------------------------------------------------------------------------------------

bool can_fork() noexcept {
  return false;
}
std::optional<Child> fork_child(const std::function<int(const WriteToParent&)>&) {
  return std::nullopt;
}
void wait_for_news(std::span<const int>, milliseconds) {}
bool read_news(int, std::string&) {
  return true;
}
Exit end_child(const Child&, Ending) {
  return {};
}

}  // namespace quern::platform
#endif
