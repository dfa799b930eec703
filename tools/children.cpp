// SPDX-License-Identifier: Apache-2.0
#include "tools/children.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  std::size_t index = 0;
  pid_t pid = -1;
  int pipe = -1;
  Clock::time_point begin;
  Clock::time_point deadline;
  std::string answer;
};

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(descriptor, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

[[noreturn]] void be_child(int descriptor, std::size_t index,
                           const std::function<std::string(std::size_t)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int code = 0;
  try {
    write_all(descriptor, work(index));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "exception: %s\n", e.what());
    code = 1;
  }
  std::fflush(stderr);
  _exit(code);
}

// False: the system has no room for another process.
bool start(std::size_t index, const ChildOptions& options,
           const std::function<std::string(std::size_t)>& work, std::vector<Child>& running) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    be_child(ends[1], index, work);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return false;
  }
  const auto now = Clock::now();
  const auto limit =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout_s));
  running.push_back({index, pid, ends[0], now, now + limit, {}});
  return true;
}

// Waits until a child has something to say or the next deadline.
void wait_for_news(std::vector<Child>& running) {
  std::vector<pollfd> polled;
  auto next = Clock::time_point::max();
  for (const Child& c : running) {
    polled.push_back({c.pipe, POLLIN, 0});
    next = std::min(next, c.deadline);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  poll(polled.data(), polled.size(),
       static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
}

// True when the child has closed its end.
bool read_answer(Child& c) {
  char buffer[4096];
  while (true) {
    pollfd p{c.pipe, POLLIN, 0};
    if (poll(&p, 1, 0) <= 0) return false;
    const ssize_t n = read(c.pipe, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    c.answer.append(buffer, static_cast<std::size_t>(n));
  }
}

// Why a child is done: it has closed its pipe, or its time is over.
enum class Ended : std::uint8_t { by_itself, by_time };

ChildResult end(Child& c, Ended why) {
  const bool timed_out = why == Ended::by_time;
  if (timed_out) kill(c.pid, SIGKILL);
  int status = 0;
  while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {
  }
  close(c.pipe);
  ChildResult r{.answer = std::move(c.answer),
                .ms = std::chrono::duration<double, std::milli>(Clock::now() - c.begin).count()};
  if (timed_out) {
    r.how = ChildResult::How::timed_out;
  } else if (WIFSIGNALED(status)) {
    r.how = ChildResult::How::crashed;
    const int signal = WTERMSIG(status);
    r.why =
        cat("SIG", sigabbrev_np(signal) ? sigabbrev_np(signal) : "?", " (", strsignal(signal), ")");
  } else if (WEXITSTATUS(status) != 0) {
    r.how = ChildResult::How::crashed;
    r.why = cat("exit code ", WEXITSTATUS(status));
  }
  return r;
}

}  // namespace

void run_in_children(std::size_t count, const ChildOptions& options,
                     const std::function<std::string(std::size_t)>& work,
                     const std::function<void(std::size_t, const ChildResult&)>& done) {
  std::vector<Child> running;
  std::size_t next = 0;
  while (next < count || !running.empty()) {
    while (next < count && running.size() < static_cast<std::size_t>(options.jobs)) {
      if (!start(next, options, work, running)) {
        if (!running.empty()) break;  // once another has ended
        done(next, {ChildResult::How::crashed, "", "no process could be started", 0});
      }
      ++next;
    }
    if (running.empty()) continue;
    wait_for_news(running);
    for (std::size_t i = 0; i < running.size();) {
      const bool closed = read_answer(running[i]);
      const bool timed_out = !closed && Clock::now() >= running[i].deadline;
      if (!closed && !timed_out) {
        ++i;
        continue;
      }
      Child ended = std::move(running[i]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      done(ended.index, end(ended, timed_out ? Ended::by_time : Ended::by_itself));
    }
  }
}

}  // namespace quern::tools
