// SPDX-License-Identifier: Apache-2.0
#include "tools/children.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "engine/vocabulary/platform/programs.h"
#include "engine/vocabulary/text_util.h"

namespace quern::tools {
namespace {

using Clock = std::chrono::steady_clock;

// Works [first, end), of which the child does `next` now.
struct Child {
  std::size_t first = 0;
  std::size_t next = 0;
  std::size_t end = 0;
  platform::Child process;
  Clock::time_point begin;  // of the work that it does now
  Clock::time_point deadline;
  std::string unread;  // bytes of answers that have come in part
};

using Work = std::function<std::string(std::size_t)>;

// An answer in the pipe: its size, then its bytes.
void write_answer(const platform::WriteToParent& write, const std::string& answer) {
  const std::uint64_t size = answer.size();
  write(std::string(reinterpret_cast<const char*>(&size), sizeof size) + answer);
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

// The exit code of the child.
int be_child(const Child& child, const platform::WriteToParent& write, const ChildOptions& options,
             const Work& work) {
  try {
    for (std::size_t i = child.next; i < child.end; ++i) {
      const std::string answer = work(i);
      write_answer(write, answer);
      if (options.ends_child && options.ends_child(answer)) break;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "exception: %s\n", e.what());
    return 1;
  }
  return 0;
}

void begin_work(Child& c, const ChildOptions& options) {
  c.begin = Clock::now();
  c.deadline = c.begin + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(options.timeout_s));
}

// Starts a child for the works of `c`. False: the system has no room for another process.
bool start(Child& c, const ChildOptions& options, const Work& work) {
  const auto process = platform::fork_child(
      [&](const platform::WriteToParent& write) { return be_child(c, write, options, work); });
  if (!process) return false;
  c.process = *process;
  begin_work(c, options);
  return true;
}

// Waits until a child has something to say or the next deadline.
void wait_for_news(std::vector<Child>& running) {
  std::vector<int> pipes;
  auto next = Clock::time_point::max();
  for (const Child& c : running) {
    pipes.push_back(c.process.pipe);
    next = std::min(next, c.deadline);
  }
  platform::wait_for_news(pipes, std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()));
}

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Why a child is done: it has closed its pipe, or its time is over.
enum class Ended : std::uint8_t { by_itself, by_time };

// Waits for the process, and answers how it ended.
ChildResult end(const Child& c, Ended why) {
  const bool timed_out = why == Ended::by_time;
  const platform::Exit exit = platform::end_child(
      c.process, timed_out ? platform::Ending::killed : platform::Ending::awaited);
  ChildResult r{.ms = ms_since(c.begin)};
  if (timed_out) {
    r.how = ChildResult::How::timed_out;
  } else if (exit.how == platform::Exit::How::signalled) {
    r.how = ChildResult::How::crashed;
    r.why = cat(exit.signal, " (", exit.described, ")");
  } else if (exit.code != 0) {
    r.how = ChildResult::How::crashed;
    r.why = cat("exit code ", exit.code);
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
    const bool closed = platform::read_news(c.process.pipe, c.unread);
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
  if (platform::can_fork()) return Children(count, options, work, done).run();
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    std::string answer = work(i);
    done(i, {.answer = std::move(answer), .ms = ms_since(begin)});
  }
}

}  // namespace quern::tools
