// SPDX-License-Identifier: Apache-2.0
#include "engine/vocabulary/platform/programs.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace quern::platform {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t one_read = 65536;

int descriptor(std::intptr_t handle) {
  return static_cast<int>(handle);
}

void close_end(std::intptr_t& end) {
  if (end >= 0) ::close(descriptor(end));
  end = -1;
}

int poll_time(milliseconds longest) {
  return static_cast<int>(std::clamp<std::int64_t>(longest.count(), 0, 3'600'000));
}

Exit exit_of(int status) {
  if (!WIFSIGNALED(status)) return {.code = WEXITSTATUS(status)};
  const int signal = WTERMSIG(status);
  const char* const name = sigabbrev_np(signal);
  return {.how = Exit::How::signalled,
          .signal = std::string("SIG") + (name ? name : "?"),
          .described = ::strsignal(signal)};
}

// The names of the other variables are not those of `variables`.
std::vector<char*> environment_with(const std::vector<std::string>& variables) {
  const auto is_set = [&](std::string_view text) {
    return std::any_of(variables.begin(), variables.end(), [&](std::string_view v) {
      return text.starts_with(v.substr(0, v.find('=') + 1));
    });
  };
  std::size_t count = 0;
  while (environ && environ[count]) ++count;
  std::vector<char*> all;
  all.reserve(variables.size() + count + 1);
  for (const std::string& v : variables) all.push_back(const_cast<char*>(v.c_str()));
  for (std::size_t i = 0; i < count; ++i)
    if (!is_set(environ[i])) all.push_back(environ[i]);
  all.push_back(nullptr);
  return all;
}

// A pipe without a reader is an error of this write and no signal for the process.
ssize_t write_without_signal(int to, std::string_view bytes) {
  sigset_t pipe_signal;
  sigset_t pending;
  sigset_t before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t n = ::write(to, bytes.data(), bytes.size());
  const int error = errno;
  constexpr timespec at_once{};
  if (n < 0 && error == EPIPE && !was_pending) ::sigtimedwait(&pipe_signal, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return n;
}

// Appends what can be read now; false at the end.
bool read_some(int from, std::string& read) {
  std::array<char, one_read> buffer;
  const ssize_t n = ::read(from, buffer.data(), buffer.size());
  if (n > 0) read.append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

}  // namespace

// ---- programs ----------------------------------------------------------------------------------

Program::~Program() {
  close_input();
  close_end(output_);
  if (process_ <= 0) return;
  ::kill(static_cast<pid_t>(process_), SIGKILL);
  while (::waitpid(static_cast<pid_t>(process_), nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Program::start(std::vector<std::string> words, const std::vector<std::string>& variables) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) return false;
  if (::pipe2(out, O_CLOEXEC) != 0) {
    ::close(in[0]);
    ::close(in[1]);
    return false;
  }
  const std::string program = words[0].empty() ? "/proc/self/exe" : words[0];
  if (words[0].empty()) words[0] = "quern";
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  const std::vector<char*> environment = environment_with(variables);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::execvpe(program.c_str(), arguments.data(), environment.data());
    ::_exit(not_started);
  }
  ::close(in[0]);
  ::close(out[1]);
  process_ = pid;
  input_ = in[1];
  output_ = out[0];
  if (pid < 0) return false;
  ::fcntl(in[1], F_SETFL, O_NONBLOCK);
  ::fcntl(out[0], F_SETFL, O_NONBLOCK);
  return true;
}

Program::Moved Program::move(std::string_view& to_write, std::string& read, milliseconds longest) {
  const bool writes = input_ >= 0 && !to_write.empty();
  pollfd ends[2] = {{descriptor(output_), POLLIN, 0}, {descriptor(input_), POLLOUT, 0}};
  const int ready = ::poll(ends, writes ? 2 : 1, poll_time(longest));
  if (ready <= 0) return Moved::nothing;
  if (writes && ends[1].revents != 0) {
    const ssize_t n = write_without_signal(descriptor(input_), to_write);
    if (n > 0) to_write.remove_prefix(static_cast<std::size_t>(n));
    if (n < 0 && errno != EAGAIN && errno != EINTR) to_write = {};
  }
  if (ends[0].revents == 0) return Moved::some;
  return read_some(descriptor(output_), read) ? Moved::some : Moved::closed;
}

void Program::close_input() {
  close_end(input_);
}

std::optional<Exit> Program::wait(milliseconds longest) {
  const auto deadline = std::chrono::steady_clock::now() + longest;
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(static_cast<pid_t>(process_), &status, WNOHANG);
    if (ended > 0) break;
    if (ended < 0 && errno != EINTR) break;
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    ::usleep(1000);
  }
  process_ = -1;
  return exit_of(status);
}

// ---- forks -------------------------------------------------------------------------------------

bool can_fork() noexcept {
  return true;
}

std::optional<Child> fork_child(const std::function<int(const WriteToParent&)>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return std::nullopt;
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int code = work([to = ends[1]](std::string_view text) {
      while (!text.empty()) {
        const ssize_t n = ::write(to, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(n));
      }
    });
    std::fflush(stderr);
    ::_exit(code);
  }
  ::close(ends[1]);
  if (pid > 0) return Child{pid, ends[0]};
  ::close(ends[0]);
  return std::nullopt;
}

void wait_for_news(std::span<const int> pipes, milliseconds longest) {
  std::vector<pollfd> polled;
  polled.reserve(pipes.size());
  for (const int pipe : pipes) polled.push_back({pipe, POLLIN, 0});
  ::poll(polled.data(), polled.size(), poll_time(longest));
}

bool read_news(int pipe, std::string& read) {
  for (;;) {
    pollfd p{pipe, POLLIN, 0};
    if (::poll(&p, 1, 0) <= 0) return false;
    if (!read_some(pipe, read)) return true;
  }
}

Exit end_child(const Child& child, Ending ending) {
  const auto process = static_cast<pid_t>(child.process);
  if (ending == Ending::killed) ::kill(process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  ::close(child.pipe);
  return exit_of(status);
}

}  // namespace quern::platform
#endif
