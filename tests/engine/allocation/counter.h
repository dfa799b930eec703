// SPDX-License-Identifier: Apache-2.0
// Counts what the whole process takes from the heap, or refuses it: malloc itself is replaced, so
// what libraries take is counted too, and told apart: dnnl_primitive_execute() makes a small map of
// its arguments in each call, which no caller can prevent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace quern::testing {

// Sanitizers bring a malloc of their own, and only glibc lets it be replaced like this.
bool can_count_allocations();

// Counts from its construction on, on all threads.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  struct Counts {
    std::size_t ours = 0;    // with no frame of oneDNN on the stack
    std::size_t onednn = 0;  // below a call into oneDNN
    std::size_t onednn_bytes = 0;
  };
  // Ends the counting.
  Counts stop();
  // Where the first of ours came from, a line a frame (addr2line tells more); "" without any.
  std::string first_caller() const;
};

// Also called with the size of each allocation, from its thread; null: nothing is.
void watch_allocations(void (*watcher)(std::size_t size));
// True if one of these return addresses lies in oneDNN, where it is now.
bool is_below_onednn(std::span<void* const> frames);
// A line a frame.
std::string symbols_of(std::span<void* const> frames);

// From here on the allocation number `first` of the process, counted from 0, fails: it alone, or
// all from it on. Async-signal-safe: a child of fork() may call it.
enum class Failing : std::uint8_t { one, all };
void refuse_allocations(std::uint64_t first, Failing failing);
// Allocates again; returns how many were asked for meanwhile.
std::uint64_t allow_allocations();
// In the handler of a signal: writes the file name of the library that it interrupted, or that
// called the C or C++ library when these were interrupted.
void name_innermost_library(char* to, std::size_t size);

}  // namespace quern::testing
