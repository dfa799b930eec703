// SPDX-License-Identifier: Apache-2.0
#include "tools/roof.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "engine/vocabulary/platform/process.h"
#include "tools/start_line.h"

namespace quern::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto time_per_measurement = std::chrono::milliseconds(60);
constexpr int chains = 12;  // independent sums: hides a latency of 4 to 6 cycles on two units

// One call does `rounds` rounds of FMAs; each returns what it has summed, so that nothing is
// optimised out.
using FmaFn = float (*)(int rounds);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) float fma_avx512(int rounds) {
  __m512 sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 a = _mm512_set1_ps(0.999F);
  const __m512 b = _mm512_set1_ps(0.001F);
  for (int r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, b);
  for (int i = 1; i < chains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

__attribute__((target("avx2,fma"))) float fma_avx2(int rounds) {
  __m256 sums[chains];
  for (int i = 0; i < chains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 a = _mm256_set1_ps(0.999F);
  const __m256 b = _mm256_set1_ps(0.001F);
  for (int r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], a, b);
  for (int i = 1; i < chains; ++i) sums[0] = _mm256_add_ps(sums[0], sums[i]);
  return _mm256_cvtss_f32(sums[0]);
}
#endif

// Multiply and add as the compiler vectorises them for the baseline.
float fma_portable(int rounds) {
  constexpr int lanes = 4 * chains;
  float sums[lanes];
  for (int i = 0; i < lanes; ++i) sums[i] = static_cast<float>(i);
  for (int r = 0; r < rounds; ++r)
    for (float& s : sums) s = s * 0.999F + 0.001F;
  float sum = 0;
  for (float s : sums) sum += s;
  return sum;
}

struct Isa {
  const char* name;
  FmaFn run;
  int lanes;
};

Isa best_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {"AVX-512", fma_avx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {"AVX2 + FMA", fma_avx2, 8};
#endif
  return {"portable", fma_portable, 4};
}

double processor_seconds() {
  return std::chrono::duration<double>(platform::thread_time()).count();
}

// Runs `work` on every thread over and over; the sum of the threads' rates, in units a second of
// processor time, so that other processes take nothing from it. `work` says how many units one call
// did.
double rate(int threads, const std::function<double(int)>& work) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  StartLine start(static_cast<std::size_t>(threads));
  const auto body = [&](int t) {
    work(t);  // pages, clock frequency
    start.arrive_and_wait();
    double units = 0;
    const auto begin = Clock::now();
    const double processor = processor_seconds();
    while (Clock::now() - begin < time_per_measurement) units += work(t);
    const double seconds = std::max(processor_seconds() - processor, 1e-9);
    rates[static_cast<std::size_t>(t)] = units / seconds;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(body, t);
  body(0);
  for (std::thread& t : others) t.join();
  double sum = 0;
  for (double r : rates) sum += r;
  return sum;
}

double copy_rate(int threads, std::size_t bytes) {
  std::vector<std::unique_ptr<char[]>> buffers;
  for (int t = 0; t < threads; ++t) {
    buffers.emplace_back(new char[2 * bytes]);
    std::memset(buffers.back().get(), t, 2 * bytes);
  }
  return rate(threads, [&](int t) {
    char* p = buffers[static_cast<std::size_t>(t)].get();
    std::memcpy(p + bytes, p, bytes);
    p[0] = p[2 * bytes - 1];
    return 2.0 * static_cast<double>(bytes);
  });
}

}  // namespace

Roof measure_roof(int threads) {
  constexpr int rounds = 20000;
  constexpr std::size_t large = std::size_t{48} << 20;
  constexpr std::size_t small = std::size_t{128} << 10;
  const Isa isa = best_isa();
  std::atomic<float> sink = 0;
  Roof roof;
  roof.threads = std::max(threads, 1);
  roof.instructions = isa.name;
  roof.gflops = rate(roof.threads, [&](int) {
    sink.store(isa.run(rounds), std::memory_order_relaxed);
    return 2e-9 * rounds * chains * isa.lanes;
  });
  roof.copy_gbytes = 1e-9 * copy_rate(roof.threads, large);
  roof.cache_gbytes = 1e-9 * copy_rate(roof.threads, small);
  return roof;
}

double measure_write_gbytes(int threads, std::size_t bytes) {
  const auto count = static_cast<std::size_t>(std::max(threads, 1));
  const std::size_t part = std::max<std::size_t>(bytes / count, 1);
  std::vector<std::unique_ptr<char[]>> buffers;
  for (std::size_t t = 0; t < count; ++t) buffers.emplace_back(new char[part]);
  return 1e-9 * rate(static_cast<int>(count), [&](int t) {
           char* p = buffers[static_cast<std::size_t>(t)].get();
           std::memset(p, p[part - 1] + 1, part);
           return static_cast<double>(part);
         });
}

Result<Roof> measure_roof(const Device& device, int threads) {
  if (device.info().kind == DeviceInfo::Kind::cpu) return measure_roof(threads);
  QUERN_ASSIGN(const DeviceRoof measured, device.measure_roof());
  return Roof{.gflops = measured.gflops,
              .copy_gbytes = measured.copy_gbytes,
              .threads = threads,
              .instructions = device.info().title};
}

}  // namespace quern::tools
