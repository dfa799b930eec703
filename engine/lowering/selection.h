// SPDX-License-Identifier: Apache-2.0
// Which implementation runs a node: the device's where it has one, else the CPU's.
#pragma once

#include <string>
#include <vector>

#include "engine/lowering/lower.h"

namespace quern::lowering {

// What kernels of the CPU may count on.
inline CpuTarget cpu_target(const LowerOptions& options) {
  return {options.threads, options.use_onednn && !options.reference_only, options.weights,
          options.scratch};
}

class KernelSelector {
 public:
  explicit KernelSelector(const LowerOptions& options)
      : backend_(options.backend),
        reference_only_(options.reference_only),
        half_products_(options.half_products) {}

  Result<KernelChoice> select(KernelRequest request);
  // Nodes that have no kernel for the device, as messages name them.
  const std::vector<std::string>& fallbacks() const { return fallbacks_; }
  // An error where the device is not to leave any to the CPU.
  Status check_fallbacks() const;

 private:
  Backend* backend_;  // null: the CPU
  bool reference_only_;
  bool half_products_;
  std::vector<std::string> fallbacks_;
};

}  // namespace quern::lowering
