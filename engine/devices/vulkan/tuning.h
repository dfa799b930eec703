// SPDX-License-Identifier: Apache-2.0
// Remembers the candidate of each dispatch that was measured as the fastest on a device; stored on
// disk next to the pipelines.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "engine/devices/vulkan/capabilities.h"
#include "kernels/contract/gpu.h"

namespace quern::vulkan {

// The measurements of one device. Any thread.
class Tuning {
 public:
  // Loads the results of earlier processes with this driver.
  void load(const Capabilities& device);
  // Writes the file if there are new results. A failure to write is not an error.
  void save(const Capabilities& device) const;

  bool knows(const Dispatch& work) const;
  // Returns the fastest of `work` and its candidates; `work` itself if it was not measured.
  const Dispatch& best(const Dispatch& work) const;
  // `candidate` is 0 for the dispatch itself, and i + 1 for its candidate i.
  void learn(const Dispatch& work, std::uint32_t candidate);

 private:
  mutable std::mutex mutex_;
  // The key is a hash of the dispatch and all its candidates, so entries of other versions are
  // never found.
  std::map<std::uint64_t, std::uint32_t> best_;
  bool is_new_ = false;
};

}  // namespace quern::vulkan
