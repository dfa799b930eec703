// SPDX-License-Identifier: Apache-2.0
// Counts what the whole process takes from the heap: malloc itself is replaced, so oneDNN and
// operator new are counted too.
#pragma once

#include <cstddef>
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

  // Ends the counting.
  std::size_t stop();
  // Where the first one came from, as a list of addresses with symbols. "" when there was none.
  std::string first_caller() const;
};

}  // namespace quern::testing
