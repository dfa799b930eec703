// SPDX-License-Identifier: Apache-2.0
// Implementations that were measured to be the fastest, by the work that they do.
#pragma once

#include <string>
#include <string_view>

namespace quern {

struct KernelRequest;

class MeasuredEntries {
 public:
  virtual ~MeasuredEntries() = default;
  // The entry of the operator's list (CpuImplementation::name); empty: the work was not measured.
  // Valid as long as this object.
  virtual std::string_view entry_for(std::string_view work) const = 0;
};

// What decides how long a kernel takes on one machine: operator, attributes, types and shapes,
// which operands are constant, post-ops, threads and the options of the target, as one line.
std::string work_text(const KernelRequest& request);

}  // namespace quern
