// SPDX-License-Identifier: Apache-2.0
#include "kernels/contract/openmp.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "engine/vocabulary/host_memory.h"
#include "engine/vocabulary/platform/process.h"
#include "kernels/contract/float_state.h"
#include "kernels/contract/kernel.h"
#include "kernels/contract/shared_library.h"
#include "kernels/contract/team_clock.h"
#include "kernels/contract/worker_pool.h"

#if defined(__SANITIZE_THREAD__)
#define QUERN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define QUERN_TSAN 1
#endif
#endif
#ifdef QUERN_TSAN
// libgomp is not instrumented: tell the sanitizer where its barriers are.
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#define QUERN_TSAN_ACQUIRE(p) __tsan_acquire(p)
#define QUERN_TSAN_RELEASE(p) __tsan_release(p)
#else
#define QUERN_TSAN_ACQUIRE(p) (void)(p)
#define QUERN_TSAN_RELEASE(p) (void)(p)
#endif

namespace quern {
namespace {

// The part of GCC's stable OpenMP interface that we call.
struct OpenMp {
  void (*parallel)(void (*)(void*), void*, unsigned threads, unsigned flags) = nullptr;
  int (*thread_num)() = nullptr;
  int (*num_threads)() = nullptr;
  int (*max_threads)() = nullptr;
  void (*set_num_threads)(int) = nullptr;
  int (*thread_limit)() = nullptr;
  int (*in_parallel)() = nullptr;
  int (*get_dynamic)() = nullptr;
  void (*set_dynamic)(int) = nullptr;

  explicit operator bool() const { return set_num_threads != nullptr; }
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(platform::find_symbol(library, name));
  return function != nullptr;
}

// ---- children of fork() ------------------------------------------------------------------------
//
// A child has only the thread that forked: a region there would wait for a team that is gone. The
// team of that thread is therefore ended before the fork, in the parent, where the next run makes
// another. Where that cannot be (an older OpenMP, a fork within a region), the child's runs go to
// new threads, which have teams of their own.

thread_local bool has_team = false;   // has asked for a region of more than one thread
thread_local bool lost_team = false;  // in a child: `has_team` when its parent forked

int (*pause_all)(int kind) = nullptr;  // null: older than OpenMP 5.0

void before_fork() {
  constexpr int hard = 2;
  if (!has_team) return;
  TeamClock::forget_mine();
  if (pause_all && pause_all(hard) == 0) has_team = false;
}

void in_child() {
  lost_team = lost_team || has_team;
}

// The nanoseconds of one round of libgomp's waiting, which is an instruction that takes 11 of them
// on one CPU and several times as many on others: a number of rounds says nothing.
double spin_ns() noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr int rounds = 500;
  double least = 1e9;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto begin = Clock::now();
    for (int i = 0; i < rounds; ++i) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#else
      __asm__ volatile("" ::: "memory");
#endif
    }
    const std::chrono::duration<double, std::nano> taken = Clock::now() - begin;
    least = std::min(least, taken.count() / rounds);
  }
  return least;
}

// The rounds for which threads look for work before they sleep.
int spin_count() noexcept {
  constexpr double looking_ns = 30'000;
  return static_cast<int>(std::clamp(looking_ns / std::max(spin_ns(), 0.1), 300.0, 50'000.0));
}

void* open_as_it_is() noexcept {
  return open_first({platform::openmp_library}, platform::Symbols::global).handle;
}

// Opens libgomp, which reads GOMP_SPINCOUNT as it is loaded. The environment has the variable only
// meanwhile.
void* open_libgomp() noexcept {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return open_as_it_is();
  if (current_host()) return open_as_it_is();  // whose environment it is
  static char variable[32];
  (void)std::snprintf(variable, sizeof variable, "GOMP_SPINCOUNT=%d", spin_count());
  return platform::with_variable(variable, open_as_it_is);
}

OpenMp load() noexcept {
  void* library = open_libgomp();
  OpenMp m;
  if (!library || !find(library, "GOMP_parallel", m.parallel) ||
      !find(library, "omp_get_thread_num", m.thread_num) ||
      !find(library, "omp_get_num_threads", m.num_threads) ||
      !find(library, "omp_get_max_threads", m.max_threads) ||
      !find(library, "omp_get_thread_limit", m.thread_limit) ||
      !find(library, "omp_in_parallel", m.in_parallel) ||
      !find(library, "omp_get_dynamic", m.get_dynamic) ||
      !find(library, "omp_set_dynamic", m.set_dynamic) ||
      !find(library, "omp_set_num_threads", m.set_num_threads))
    return {};
  (void)find(library, "omp_pause_resource_all", pause_all);
  platform::on_fork(before_fork, in_child);
  return m;
}

const OpenMp& openmp() noexcept {
  static const OpenMp m = load();
  return m;
}

}  // namespace

bool open_openmp() noexcept {
  return static_cast<bool>(openmp());
}

int threads_of_run(int wanted) {
  const int most = default_threads();
  const int useful = wanted > 0 ? std::min(wanted, most) : most;
  return openmp() ? std::max(1, std::min(useful, openmp().thread_limit())) : useful;
}

Team team_of_run(int wanted, const ThreadPool* pool) {
  if (!pool) return {threads_of_run(wanted)};
  const int most = std::max(1, pool->threads());
  return {wanted > 0 ? std::min(wanted, most) : most, Team::Kind::pool};
}

bool in_openmp_team() noexcept {
  return openmp() && (lost_team || openmp().in_parallel() != 0);
}

OpenMpThreads::OpenMpThreads(int threads) noexcept {
  if (!openmp()) return;
  threads_before_ = openmp().max_threads();
  dynamic_before_ = openmp().get_dynamic();
  if (threads_before_ != threads) openmp().set_num_threads(threads);
  if (dynamic_before_) openmp().set_dynamic(0);
  has_team = has_team || threads > 1;
}

OpenMpThreads::~OpenMpThreads() {
  if (!openmp()) return;
  if (openmp().max_threads() != threads_before_) openmp().set_num_threads(threads_before_);
  if (dynamic_before_) openmp().set_dynamic(dynamic_before_);
}

std::chrono::nanoseconds time_of_team(int threads) noexcept {
  if (!openmp() || in_openmp_team()) return std::chrono::nanoseconds(0);
  try {
    const std::shared_ptr<TeamClock>& clock = TeamClock::mine();
    if (clock->is_new_size(threads)) {
      const OpenMpThreads team(threads);
      const Parallel parallel(threads);
      parallel(threads, 1, [](std::int64_t, std::int64_t) {});
    }
    return clock->team_time();
  } catch (...) {
    return std::chrono::nanoseconds(0);
  }
}

std::chrono::nanoseconds time_of_helpers() noexcept {
  try {
    return TeamClock::mine()->team_time();
  } catch (...) {
    return std::chrono::nanoseconds(0);
  }
}

int default_threads() {
  const int allowed = platform::allowed_cpus();
  const double quota = platform::cpu_quota();
  const int by_quota = quota > 0 ? static_cast<int>(std::ceil(quota)) : allowed;
  return std::max(1, std::min(allowed, by_quota));
}

// Blocks begin small, since an element may be anything, and grow as long as they are short.
std::int64_t Parallel::run_part(const Loop& loop, std::int64_t begin, std::int64_t end) {
  if (!loop.stop) {
    loop.body(loop.context, begin, end);
    return end;
  }
  using Clock = std::chrono::steady_clock;
  constexpr auto shortest = std::chrono::milliseconds(2);
  constexpr auto longest = std::chrono::milliseconds(20);
  std::int64_t size = loop.grain;
  Clock::time_point before = Clock::now();
  while (begin < end && !loop.stop->is_reached()) {
    const std::int64_t next = end - begin <= size ? end : begin + size;
    loop.body(loop.context, begin, next);
    begin = next;
    const Clock::time_point now = Clock::now();
    if (now - before < shortest && size <= end) size *= 4;
    if (now - before > longest && size > 1) size = std::max<std::int64_t>(size / 4, 1);
    if (now - before >= shortest && helper_is_due_elsewhere()) return begin;
    before = now;
  }
  return end;
}

// The rests of parts that helpers left (helper_is_due_elsewhere()).
class Parallel::Rests {
 public:
  // Returns false if there is no room.
  bool add(Range r) {
    const int i = count_++;
    if (i < most) all_[i] = r;
    return i < most;
  }
  // While nobody adds.
  std::optional<Range> take() {
    if (taken_ >= std::min<int>(count_, most)) return std::nullopt;
    return all_[taken_++];
  }

 private:
  static constexpr int most = 64;
  Range all_[most];
  std::atomic<int> count_ = 0;
  int taken_ = 0;
};

// Work that helpers have left is cut into parts again, one rest after the other; a caller leaves
// nothing.
void Parallel::run_in_pool(int parts, const Loop& loop, ThreadPool& pool) {
  Rests rests;
  run_range({0, loop.n}, parts, loop, pool, rests);
  while (const std::optional<Range> rest = rests.take()) run_range(*rest, parts, loop, pool, rests);
}

void Parallel::run_range(Range range, int parts, const Loop& loop, ThreadPool& pool, Rests& rests) {
  struct Shared {
    const Loop& loop;
    Range range;
    int parts;
    Rests& rests;
    const std::shared_ptr<TeamClock>* clock;
    std::thread::id caller;
    FloatStates float_states;
  };
  const auto part = [](void* data, int index) {
    const auto& [loop, range, parts, rests, clock, caller, states] =
        *static_cast<const Shared*>(data);
    const FloatStatesScope of_caller(states);
    const bool is_counted = clock && std::this_thread::get_id() != caller;
    const auto before = is_counted ? platform::thread_time() : std::chrono::nanoseconds(0);
    const std::int64_t n = range.end - range.begin;
    Range mine{range.begin + n * index / parts, range.begin + n * (index + 1) / parts};
    while (mine.begin < mine.end) {
      mine.begin = run_part(loop, mine.begin, mine.end);
      if (mine.begin < mine.end && rests.add(mine)) break;
    }
    if (is_counted) (*clock)->add(platform::thread_time() - before);
  };
  Shared shared{
      loop,          range, parts, rests, TeamClock::mine_if_made(), std::this_thread::get_id(),
      float_states()};
  pool.run(parts, part, &shared);
}

void Parallel::run(int parts, const Loop& loop) {
  if (!openmp()) {
    (void)run_part(loop, 0, loop.n);
    return;
  }
  struct Shared {
    const Loop& loop;
    const std::shared_ptr<TeamClock>* clock;
    FloatStates float_states;
  };
  const auto part = [](void* data) {
    QUERN_TSAN_ACQUIRE(data);
    const auto& [l, clock, states] = *static_cast<const Shared*>(data);
    const FloatStatesScope of_caller(states);
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): openmp() is complete where it calls this
    const std::int64_t team = openmp().num_threads();
    const std::int64_t me = openmp().thread_num();
    if (clock && me > 0) TeamClock::join(*clock);
    const std::int64_t begin = l.n * me / team;
    const std::int64_t end = l.n * (me + 1) / team;
    if (begin < end) run_part(l, begin, end);
    QUERN_TSAN_RELEASE(data);
  };
  Shared shared{loop, TeamClock::mine_if_made(), float_states()};
  QUERN_TSAN_RELEASE(&shared);
  has_team = true;
  // A thread that OpenMP starts has the state of this one from its beginning.
  const FloatStateScope as_host(shared.float_states.host);
  openmp().parallel(part, &shared, static_cast<unsigned>(parts), 0);
  QUERN_TSAN_ACQUIRE(&shared);
}

}  // namespace quern
