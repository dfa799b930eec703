// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/cold.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <random>

#include "tools/kernel/clocks.h"

namespace quern::tools::lab {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr std::size_t numbers_per_line = line_bytes / sizeof(std::uint32_t);
constexpr std::size_t probe_lines = 4096;
constexpr std::size_t first_bytes = std::size_t{4} << 20;
std::atomic<std::uint32_t> sink_of_reads;

}  // namespace

CacheEvictor::CacheEvictor(std::size_t most_bytes) : probe_(probe_lines * numbers_per_line) {
  std::vector<std::uint32_t> order(probe_lines);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::shuffle(order, std::mt19937(7));
  for (std::size_t i = 0; i < probe_lines; ++i)
    probe_[order[i] * numbers_per_line] =
        static_cast<std::uint32_t>(order[(i + 1) % probe_lines] * numbers_per_line);
  probe_ns();
  warm_ns_ = std::min({probe_ns(), probe_ns(), probe_ns()});
  memory_.resize(most_bytes, 1);
  const double longest = probe_after(most_bytes);
  for (bytes_ = std::min(first_bytes, most_bytes); bytes_ < most_bytes; bytes_ *= 2) {
    cold_ns_ = probe_after(bytes_);
    if (cold_ns_ >= 0.9 * longest) break;
  }
  if (bytes_ >= most_bytes) bytes_ = most_bytes, cold_ns_ = longest;
  memory_.resize(bytes_);
}

double CacheEvictor::probe_after(std::size_t bytes) {
  double times[3];
  for (double& ns : times) {
    walk(bytes);
    ns = probe_ns();
  }
  std::ranges::sort(times);
  return times[1];
}

void CacheEvictor::evict() {
  walk(bytes_);
}

// Writes, so that lines are this thread's own and leave nothing shared behind.
void CacheEvictor::walk(std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += line_bytes) ++memory_[i];
}

double CacheEvictor::probe_ns() {
  const double begin = system_clocks().wall();
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < probe_lines; ++i) at = probe_[at];
  sink_of_reads.store(at, std::memory_order_relaxed);
  return 1e3 * (system_clocks().wall() - begin) / static_cast<double>(probe_lines);
}

OtherMemory::OtherMemory(std::size_t bytes) : memory_(std::min(bytes, std::size_t{256} << 20), 1) {}

void OtherMemory::read(std::size_t bytes) const {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < std::min(bytes, memory_.size()); i += line_bytes) sum += memory_[i];
  sink_of_reads.store(sum, std::memory_order_relaxed);
}

}  // namespace quern::tools::lab
