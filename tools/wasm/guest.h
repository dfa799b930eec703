// SPDX-License-Identifier: Apache-2.0
// One WebAssembly guest in libwabt's interpreter: a runner for tests and demonstrations. C++17,
// since libwabt's headers are not C++20.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace quern::wasm {

// Taken anew for each call: the memory moves when the guest makes it larger.
struct LinearMemory {
  std::uint8_t* base = nullptr;  // null: the guest exports none
  std::uint64_t size = 0;
};

// The guest that makes a call.
class Caller {
 public:
  virtual LinearMemory memory() = 0;
  // Calls the guest's cabi_realloc(0, 0, alignment, bytes). False: it trapped, or there is none.
  virtual bool make_room(std::uint32_t alignment, std::uint32_t bytes, std::uint32_t* at) = 0;

 protected:
  ~Caller() = default;
};

struct HostAnswer {
  std::uint32_t value = 0;
  bool ends_guest = false;  // `value` is its exit status
};

struct HostFunction {
  // A letter a parameter, i for i32 and I for i64, and the result after a colon: "iI:i", "i:". "":
  // any parameters, and an i32 as the result.
  std::string signature;
  std::function<HostAnswer(Caller&, const std::uint64_t*)> call;
};

// Null: there is no such import.
using Resolver =
    std::function<const HostFunction*(const std::string& module, const std::string& name)>;

struct GuestEnd {
  int exit_status = 0;
  std::string error;  // "": it ended by itself; else why it could not run or trapped
};

// Instantiates the module and calls its _start.
GuestEnd run_guest(const std::string& module_bytes, const Resolver& resolve);

}  // namespace quern::wasm
