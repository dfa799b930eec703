// SPDX-License-Identifier: Apache-2.0
#include "engine/devices/vulkan/process_end.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>

#include "engine/devices/vulkan/core.h"

namespace quern::vulkan {
namespace {

std::atomic<bool> is_ending = false;

// Never destroyed: static objects that are may use it.
struct Cores {
  std::mutex mutex;
  std::set<const Core*> all;
};
Cores& cores() {
  static Cores& cores = *new Cores;
  return cores;
}

void end() {
  if (is_ending) return;
  // In a child of fork() a thread that is missing there may hold the lock.
  if (const std::unique_lock lock(cores().mutex, std::try_to_lock); lock)
    for (const Core* core : cores().all) core->save_files();
  is_ending = true;
}

}  // namespace

bool is_process_ending() {
  return is_ending.load(std::memory_order_relaxed);
}

void follow_driver() {
  // After the instance, the first device and the first pipelines; and a few more to be safe.
  constexpr int most = 8;
  static std::atomic<int> handlers = 0;
  if (handlers < most && handlers++ < most) (void)std::atexit(end);
}

void save_at_end(const Core* core) {
  const std::scoped_lock lock(cores().mutex);
  cores().all.insert(core);
}

void forget_at_end(const Core* core) {
  const std::scoped_lock lock(cores().mutex);
  cores().all.erase(core);
}

}  // namespace quern::vulkan
