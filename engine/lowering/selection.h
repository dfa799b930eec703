// SPDX-License-Identifier: Apache-2.0
// Selects the implementation of a node: dispatches on a GPU if there are some, else the CPU's.
#pragma once

#include <string>
#include <vector>

#include "engine/lowering/lower.h"

namespace quern::lowering {

// The properties that CPU kernels may rely on.
inline CpuTarget cpu_target(const LowerOptions& options) {
  return {options.team,
          options.use_onednn && !options.reference_only,
          options.weights,
          options.scratch,
          options.flush_denormals,
          options.stripes != Stripes::none,
          options.formats,
          options.entry,
          options.measured,
          options.stop};
}

// The layout that a kernel asks for; row-major if it does not say.
inline Layout layout_asked(const std::vector<Layout>& layouts, std::size_t i, const Shape& shape) {
  const bool asked = i < layouts.size() && layouts[i].strides.rank() == shape.rank();
  return asked ? layouts[i] : Layout::row_major(shape);
}

class KernelSelector {
 public:
  explicit KernelSelector(const LowerOptions& options)
      : backend_(options.backend),
        reference_only_(options.reference_only),
        half_products_(options.half_products) {}

  // `gpu`: the device that the node is offered to; null: none.
  Result<KernelChoice> select(KernelRequest request, const GpuTarget* gpu);
  // Nodes that the CPU computes although there is a device, as named in messages.
  const std::vector<std::string>& fallbacks() const { return fallbacks_; }
  // The number of these with an operand, or scratch, that is larger than a binding of the device.
  std::size_t too_large() const { return too_large_; }
  // Returns an error if the device is strict and fallbacks are for want of kernels; others may find
  // room in stripes.
  Status check_fallbacks() const;

 private:
  Backend* backend_;  // null: the CPU
  bool reference_only_;
  bool half_products_;
  std::vector<std::string> fallbacks_;
  std::size_t too_large_ = 0;
};

}  // namespace quern::lowering
