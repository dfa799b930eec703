// SPDX-License-Identifier: Apache-2.0
// A module of WebAssembly is one thread without libraries that it could open and other processes.
#include "engine/vocabulary/platform/process.h"

#if defined(__wasi__)
#include <cstdlib>
#include <unistd.h>

#include "engine/vocabulary/platform/libraries.h"
#include "engine/vocabulary/platform/programs.h"
#include "engine/vocabulary/platform/waiting.h"

// What the thread has ends with the module.
extern "C" int __cxa_atexit(void (*destroy)(void*), void* object, void* module);
extern "C" int __cxa_thread_atexit(void (*destroy)(void*), void* object, void* module) {
  return __cxa_atexit(destroy, object, module);
}

namespace quern::platform {
namespace {

// The host counts no processor time.
std::chrono::nanoseconds wall_time() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

// ---- the process -------------------------------------------------------------------------------

std::int64_t process_id() noexcept {
  return 1;
}
void on_fork(void (*)(), void (*)()) noexcept {}
int allowed_cpus() noexcept {
  return 1;
}
double cpu_quota() {
  return 0;
}
std::size_t second_level_cache() noexcept {
  return 0;
}
std::size_t peak_resident_bytes() noexcept {
  return __builtin_wasm_memory_size(0) * 65536;  // it never shrinks
}
std::string system_name() {
  return "WASI wasm32";
}
bool is_terminal(Stream stream) noexcept {
  return ::isatty(static_cast<int>(stream)) == 1;
}
void set_variable(const char* name, const char* value) {
  ::setenv(name, value, 1);
}
void* with_variable(char*, void* (*open)()) noexcept {
  return open();
}
std::string make_private_folder(const std::string&) {
  return {};
}
OnInterrupt::OnInterrupt(void (*)(int)) noexcept {}
OnInterrupt::~OnInterrupt() = default;

// ---- threads and clocks ------------------------------------------------------------------------

ThreadClock this_thread_clock() noexcept {
  return 0;
}
std::chrono::nanoseconds time_of(ThreadClock) noexcept {
  return wall_time();
}
std::chrono::nanoseconds thread_time() noexcept {
  return wall_time();
}
std::chrono::nanoseconds process_time() noexcept {
  return wall_time();
}
std::chrono::nanoseconds raw_time() noexcept {
  return wall_time();
}
std::tm local_time(std::time_t time) noexcept {
  std::tm parts{};
  ::gmtime_r(&time, &parts);  // there are no zones
  return parts;
}
void wait_while(const std::atomic<unsigned>& value, unsigned known) noexcept {
  if (value.load() == known) __builtin_trap();  // for ever
}
void wake_one(std::atomic<unsigned>&) noexcept {}
void wake_all(std::atomic<unsigned>&) noexcept {}
void name_thread(std::thread&, const char*) noexcept {}

// ---- the CPU -----------------------------------------------------------------------------------

CpuBits cpu_bits() noexcept {
  return {};
}
int sve_bytes() noexcept {
  return 0;
}
bool may_use_tiles() noexcept {
  return false;
}
void load_unwinder() noexcept {}

// ---- libraries ---------------------------------------------------------------------------------

const char* const openmp_library = "";
const char* const vulkan_library = "";

void* open_library(const char*, Symbols) noexcept {
  return nullptr;
}
void close_library(void*) noexcept {}
void* find_symbol(void*, const char*) noexcept {
  return nullptr;
}
const char* library_error() noexcept {
  return "WebAssembly opens no libraries";
}
void write_library_path(void*, std::span<char>) noexcept {}
bool is_static_program() noexcept {
  return true;
}

// ---- programs ----------------------------------------------------------------------------------

Program::~Program() = default;
bool Program::start(std::vector<std::string>, const std::vector<std::string>&) {
  return false;
}
Program::Moved Program::move(std::string_view&, std::string&, std::chrono::milliseconds) {
  return Moved::closed;
}
void Program::close_input() {}
std::optional<Exit> Program::wait(std::chrono::milliseconds) {
  return std::nullopt;
}
bool can_fork() noexcept {
  return false;
}
std::optional<Child> fork_child(const std::function<int(const WriteToParent&)>&) {
  return std::nullopt;
}
void wait_for_news(std::span<const int>, std::chrono::milliseconds) {}
bool read_news(int, std::string&) {
  return true;
}
Exit end_child(const Child&, Ending) {
  return {};
}

}  // namespace quern::platform
#endif
