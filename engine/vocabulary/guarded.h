// SPDX-License-Identifier: Apache-2.0
// Where exceptions end: public calls, threads of our own, and what hands errors to C.
#pragma once

#include <type_traits>

#include <quern/status.h>

namespace quern {

// The exception that is being handled, as an error: std::bad_alloc is out_of_memory, and what is
// not known is internal.
Status status_of_exception() noexcept;

// Runs a body that returns a Status or a Result. No exception leaves it, so that whoever calls may
// be built without exceptions. What the body changes must be sound wherever it ends.
template <class F>
std::invoke_result_t<const F&> guarded(const F& body) noexcept {
  try {
    return body();
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace quern
