// SPDX-License-Identifier: Apache-2.0
// The names of the standard library for threads, which Debian's libc++ for WASI leaves out, for a
// module that has one thread: nobody holds a mutex that another wants, and who would wait for
// another thread ends the module. A thread cannot be started: std::system_error.
//
// On the path of includes before the standard library's (preset wasm32); <mutex>, <thread>,
// <condition_variable> and <future> beside it add this to the library's own.
#pragma once

// Other headers of the library's own include these: no more than what is needed, or they go in
// rounds.
#include <__mutex/tag_types.h>
#include <__system_error/errc.h>
#include <__system_error/error_code.h>
#include <__system_error/system_error.h>
#include <__utility/exchange.h>
#include <__utility/move.h>
#include <compare>
#include <unistd.h>

namespace std {

struct mutex {
  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  void lock() {}
  bool try_lock() noexcept { return true; }
  void unlock() noexcept {}
};

struct timed_mutex : mutex {
  template <class Time>
  bool try_lock_for(const Time&) {
    return true;
  }
  template <class Time>
  bool try_lock_until(const Time&) {
    return true;
  }
};

template <class Mutex>
class unique_lock {
 public:
  using mutex_type = Mutex;

  unique_lock() noexcept = default;
  explicit unique_lock(Mutex& m) : mutex_(&m), owns_(true) {}
  unique_lock(Mutex& m, defer_lock_t) noexcept : mutex_(&m) {}
  unique_lock(Mutex& m, try_to_lock_t) : mutex_(&m), owns_(true) {}
  unique_lock(Mutex& m, adopt_lock_t) : mutex_(&m), owns_(true) {}
  unique_lock(unique_lock&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)), owns_(std::exchange(other.owns_, false)) {}
  unique_lock& operator=(unique_lock&& other) noexcept {
    mutex_ = std::exchange(other.mutex_, nullptr);
    owns_ = std::exchange(other.owns_, false);
    return *this;
  }

  void lock() { owns_ = true; }
  bool try_lock() { return owns_ = true; }
  template <class Time>
  bool try_lock_for(const Time&) {
    return owns_ = true;
  }
  template <class Time>
  bool try_lock_until(const Time&) {
    return owns_ = true;
  }
  void unlock() { owns_ = false; }
  bool owns_lock() const noexcept { return owns_; }
  explicit operator bool() const noexcept { return owns_; }
  Mutex* mutex() const noexcept { return mutex_; }

 private:
  Mutex* mutex_ = nullptr;
  bool owns_ = false;
};

template <class... Mutexes>
class scoped_lock {
 public:
  explicit scoped_lock(Mutexes&...) {}
  explicit scoped_lock(adopt_lock_t, Mutexes&...) {}
  scoped_lock(const scoped_lock&) = delete;
  scoped_lock& operator=(const scoped_lock&) = delete;
};

enum class cv_status { no_timeout, timeout };

class condition_variable {
 public:
  condition_variable() = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  void notify_one() noexcept {}
  void notify_all() noexcept {}
  template <class Lock>
  void wait(Lock&) {
    __builtin_trap();  // for ever
  }
  template <class Lock, class Predicate>
  void wait(Lock&, Predicate is_done) {
    if (!is_done()) __builtin_trap();
  }
  template <class Lock, class Time>
  cv_status wait_until(Lock&, const Time&) {
    return cv_status::timeout;
  }
  template <class Lock, class Time, class Predicate>
  bool wait_until(Lock&, const Time&, Predicate is_done) {
    return is_done();
  }
  template <class Lock, class Time>
  cv_status wait_for(Lock&, const Time&) {
    return cv_status::timeout;
  }
  template <class Lock, class Time, class Predicate>
  bool wait_for(Lock&, const Time&, Predicate is_done) {
    return is_done();
  }
};

class thread {
 public:
  using native_handle_type = void*;
  struct id {
    int number = 0;
    auto operator<=>(const id&) const = default;
  };

  thread() noexcept = default;
  template <class F, class... Arguments>
  explicit thread(F&&, Arguments&&...) {
    throw system_error(make_error_code(errc::resource_unavailable_try_again));
  }
  bool joinable() const noexcept { return false; }
  void join() {}
  void detach() {}
  id get_id() const noexcept { return {}; }
  native_handle_type native_handle() { return nullptr; }
  static unsigned hardware_concurrency() noexcept { return 1; }
};

namespace this_thread {

inline thread::id get_id() noexcept {
  return {1};
}
inline void yield() noexcept {}
template <class Time>
void sleep_for(const Time& time) {
  using Period = typename Time::period;
  ::usleep(static_cast<unsigned>(time.count() * 1'000'000 * Period::num / Period::den));
}

}  // namespace this_thread

enum class launch { async = 1, deferred = 2 };

// Runs when it is asked for its result.
template <class F>
class future_of {
 public:
  explicit future_of(F f) : f_(std::move(f)) {}
  decltype(auto) get() { return f_(); }

 private:
  F f_;
};
template <class F>
future_of<F> async(launch, F f) {
  return future_of<F>(std::move(f));
}

}  // namespace std
