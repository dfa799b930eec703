// SPDX-License-Identifier: Apache-2.0
// Which candidate of a dispatch a device is fastest with, as measured: kept on disk beside the
// pipelines.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "engine/devices/vulkan/capabilities.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

// Of one device. Any thread.
class Tuning {
 public:
  // What an earlier process has measured with this driver.
  void load(const Capabilities& device);
  // Where there is something new. Failing to write is no error.
  void save(const Capabilities& device) const;

  bool knows(const Dispatch& work) const;
  // `work`, or the one of its candidates that was the fastest.
  const Dispatch& best(const Dispatch& work) const;
  // `candidate` is 0 for the dispatch itself, then its candidates in their order.
  void learn(const Dispatch& work, std::uint32_t candidate);

 private:
  mutable std::mutex mutex_;
  // By a hash of the dispatch and of all its candidates: entries of other versions are never found.
  std::map<std::uint64_t, std::uint32_t> best_;
  bool is_new_ = false;
};

}  // namespace quern::vulkan
