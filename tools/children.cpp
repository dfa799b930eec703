// SPDX-License-Identifier: Apache-2.0
#include "tools/children.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Works [first, end), of which the child does `next` now.
struct Child {
  std::size_t first = 0;
  std::size_t next = 0;
  std::size_t end = 0;
  pid_t pid = -1;
  int pipe = -1;
  Clock::time_point begin;  // of the work that it does now
  Clock::time_point deadline;
  std::string unread;  // bytes of answers that have come in part
};

using Work = std::function<std::string(std::size_t)>;

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = write(descriptor, text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

// An answer in the pipe: its size, then its bytes.
void write_answer(int descriptor, const std::string& answer) {
  const std::uint64_t size = answer.size();
  write_all(descriptor, std::string(reinterpret_cast<const char*>(&size), sizeof size) + answer);
}

// Takes the first answer out of `unread`; nothing, while it has not come as a whole.
std::optional<std::string> take_answer(std::string& unread) {
  std::uint64_t size = 0;
  if (unread.size() < sizeof size) return {};
  std::memcpy(&size, unread.data(), sizeof size);
  if (unread.size() - sizeof size < size) return {};
  std::string answer = unread.substr(sizeof size, size);
  unread.erase(0, sizeof size + size);
  return answer;
}

[[noreturn]] void be_child(const Child& child, int descriptor, const ChildOptions& options,
                           const Work& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int code = 0;
  try {
    for (std::size_t i = child.next; i < child.end; ++i) {
      const std::string answer = work(i);
      write_answer(descriptor, answer);
      if (options.ends_child && options.ends_child(answer)) break;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "exception: %s\n", e.what());
    code = 1;
  }
  std::fflush(stderr);
  _exit(code);
}

void begin_work(Child& c, const ChildOptions& options) {
  c.begin = Clock::now();
  c.deadline = c.begin + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(options.timeout_s));
}

// Starts a child for the works of `c`. False: the system has no room for another process.
bool start(Child& c, const ChildOptions& options, const Work& work) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    be_child(c, ends[1], options, work);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return false;
  }
  c.pid = pid;
  c.pipe = ends[0];
  begin_work(c, options);
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

// Reads what has come. True when the child has closed its end.
bool read_answers(Child& c) {
  char buffer[4096];
  while (true) {
    pollfd p{c.pipe, POLLIN, 0};
    if (poll(&p, 1, 0) <= 0) return false;
    const ssize_t n = read(c.pipe, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    c.unread.append(buffer, static_cast<std::size_t>(n));
  }
}

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Why a child is done: it has closed its pipe, or its time is over.
enum class Ended : std::uint8_t { by_itself, by_time };

// Waits for the process, and answers how it ended.
ChildResult end(const Child& c, Ended why) {
  const bool timed_out = why == Ended::by_time;
  if (timed_out) kill(c.pid, SIGKILL);
  int status = 0;
  while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {
  }
  close(c.pipe);
  ChildResult r{.ms = ms_since(c.begin)};
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

class Children {
 public:
  Children(std::size_t count, const ChildOptions& options, const Work& work,
           const std::function<void(std::size_t, const ChildResult&)>& done)
      : options_(options), work_(work), done_(done) {
    const std::size_t each = std::max<std::size_t>(1, options.per_child);
    for (std::size_t i = 0; i < count; i += each)
      waiting_.push_back({.first = i, .next = i, .end = std::min(count, i + each)});
  }

  void run() {
    while (!waiting_.empty() || !running_.empty()) {
      start_some();
      if (running_.empty()) continue;
      wait_for_news(running_);
      for (std::size_t i = 0; i < running_.size();)
        if (!look_at(running_[i]))
          ++i;
        else
          running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  void start_some() {
    while (!waiting_.empty() && running_.size() < static_cast<std::size_t>(options_.jobs)) {
      Child& c = waiting_.front();
      if (start(c, options_, work_)) {
        running_.push_back(std::move(c));
        waiting_.pop_front();
        continue;
      }
      if (!running_.empty()) return;  // once another has ended
      done_(c.next, {ChildResult::How::crashed, "", "no process could be started", 0});
      if (++c.next == c.end) waiting_.pop_front();
    }
  }

  // True when the child has ended.
  bool look_at(Child& c) {
    const bool closed = read_answers(c);
    while (auto answer = take_answer(c.unread)) {
      done_(c.next++, {.answer = std::move(*answer), .ms = ms_since(c.begin)});
      begin_work(c, options_);
    }
    const bool timed_out = !closed && Clock::now() >= c.deadline;
    if (!closed && !timed_out) return false;
    ChildResult r = end(c, timed_out ? Ended::by_time : Ended::by_itself);
    if (r.how == ChildResult::How::finished && c.next == c.first) {
      r.how = ChildResult::How::crashed;
      r.why = "it ended without an answer";
    }
    // One that ends well after some answers leaves the rest to another.
    if (c.next < c.end && r.how != ChildResult::How::finished) done_(c.next++, r);
    if (c.next < c.end) waiting_.push_front({.first = c.next, .next = c.next, .end = c.end});
    return true;
  }

  const ChildOptions& options_;
  const Work& work_;
  const std::function<void(std::size_t, const ChildResult&)>& done_;
  std::deque<Child> waiting_;
  std::vector<Child> running_;
};

}  // namespace

void run_in_children(std::size_t count, const ChildOptions& options, const Work& work,
                     const std::function<void(std::size_t, const ChildResult&)>& done) {
  Children(count, options, work, done).run();
}

}  // namespace quern::tools
