// SPDX-License-Identifier: Apache-2.0
// How a thread's CPU treats denormal numbers (below 2^-126 in f32): a network with many among its
// weights takes a hundred times as long where they are computed with (docs/precision.md).
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace quern {

// The bits of the calling thread's control register that are about denormal numbers; 0 on CPUs
// that we know no such bits of.
using FloatState = std::uint64_t;

#if defined(__x86_64__)
constexpr FloatState flushing = 0x8040;  // MXCSR: results become 0, operands count as 0
inline FloatState float_state() noexcept {
  return _mm_getcsr() & flushing;
}
inline void set_float_state(FloatState state) noexcept {
  const FloatState all = _mm_getcsr();
  if ((all & flushing) != state) _mm_setcsr(static_cast<unsigned>((all & ~flushing) | state));
}
#elif defined(__aarch64__)
constexpr FloatState flushing = FloatState{1} << 24;  // FPCR.FZ
inline FloatState float_state() noexcept {
  FloatState all;
  __asm__ volatile("mrs %0, fpcr" : "=r"(all));
  return all & flushing;
}
inline void set_float_state(FloatState state) noexcept {
  FloatState all;
  __asm__ volatile("mrs %0, fpcr" : "=r"(all));
  if ((all & flushing) != state)
    __asm__ volatile("msr fpcr, %0" : : "r"((all & ~flushing) | state));
}
#else
constexpr FloatState flushing = 0;
inline FloatState float_state() noexcept {
  return 0;
}
inline void set_float_state(FloatState) noexcept {}
#endif

// Sets the calling thread's state for one scope.
class FloatStateScope {
 public:
  explicit FloatStateScope(FloatState state) noexcept { set_float_state(state); }
  ~FloatStateScope() { set_float_state(before_); }
  FloatStateScope(const FloatStateScope&) = delete;
  FloatStateScope& operator=(const FloatStateScope&) = delete;

 private:
  FloatState before_ = float_state();
};

// Within a run, the state that its caller had before it, and the one that a kernel has. A library
// that opens teams of its own runs in the first on all threads: to give these another one would
// take a region of OpenMP, a tenth of a millisecond where they sleep.
struct FloatStates {
  FloatState host = 0;
  FloatState kernel = 0;
};
inline thread_local FloatState host_float_state = 0;  // within a FloatStatesScope

// Those of the calling thread, for a helper of it.
inline FloatStates float_states() noexcept {
  return {host_float_state, float_state()};
}

// Sets both on the calling thread for one scope.
class FloatStatesScope {
 public:
  explicit FloatStatesScope(FloatStates states) noexcept : kernel_(states.kernel) {
    host_float_state = states.host;
  }
  ~FloatStatesScope() { host_float_state = host_before_; }
  FloatStatesScope(const FloatStatesScope&) = delete;
  FloatStatesScope& operator=(const FloatStatesScope&) = delete;

 private:
  FloatState host_before_ = host_float_state;
  FloatStateScope kernel_;
};

}  // namespace quern
